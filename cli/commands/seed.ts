import { connect } from '../client.js'
import { defineCommand } from '../command.js'
import { EXIT } from '../failure.js'
import { SANDBOX_OPTIONS } from '../find-sandbox.js'
import { readFile, textOf } from '../input.js'
import { type ObjectForm, readObject } from '../values.js'

/** `tix-webhooks seed`: through the control API. */
const FIXTURES = `{
  "venues": [{ "name": "The Boathouse", "city": "Porto", "timezone": "Europe/Lisbon" }],
  "events": [
    {
      "title": "Harbour Jazz",
      "doors_at": "2099-12-01T19:30:00+00:00",
      "tickets": [{ "name": "balcony", "price_cents": 3900, "quantity": 20 }],
      "status": "on_sale",
      "orders": [{ "tier": "balcony", "quantity": 2 }]
    }
  ]
}`

const FORM: ObjectForm = {
  example: '{"venues":[{"name":"The Boathouse"}]}',
  cure: 'tix-webhooks seed --help shows what it holds.',
}

export const seed = defineCommand({
  name: 'seed',
  summary: 'fills the running sandbox from a file of fixtures, without webhooks',
  details:
    'All of it is made, or nothing. account is test (the default) or live. A venue has a name, and may have address, city, country, timezone and capacity. An event is what POST /v2/events takes; without venue or venue_id, it has the first venue. Beside that it may have status, which is draft (the default), on_sale or cancelled, and orders, unless it is a draft.',
  args: [{ name: 'FILE', says: 'a JSON file, or - for the standard input' }],
  file: { says: 'FILE, such as', text: FIXTURES },
  options: SANDBOX_OPTIONS,
  examples: [
    { says: 'from a file', line: 'tix-webhooks seed fixtures.json' },
    { says: 'from another program', line: 'tix-webhooks seed - < fixtures.json' },
  ],
  async run({ sandbox }, [path = ''], context) {
    const { io, out } = context
    const fixtures = readObject(
      textOf(await readFile(path, 'FILE', io)),
      path === '-' ? 'The standard input' : path,
      FORM,
    )
    const client = await connect(sandbox, context)
    const made = await client.call<Record<string, number>>('POST', '/seed', fixtures)
    const counts = Object.entries(made).map(([name, count]) => `${count} ${name}`)
    out.tell(made, `Made ${counts.join(', ')}.`)
    return EXIT.ok
  },
})
