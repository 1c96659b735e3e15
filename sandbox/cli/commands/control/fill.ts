import { defineCommand } from '../../arguments/command.js'
import { readFile, textOf } from '../../arguments/input.js'
import { type ObjectForm, readObject } from '../../arguments/values.js'
import { connect } from '../../client/client.js'
import { SANDBOX_OPTIONS } from '../../client/find-sandbox.js'
import { EXIT } from '../../failure.js'

/** `tix-webhooks fill`: through the control API. */
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
  cure: 'For an example: tix-webhooks fill --help',
}

export const fill = defineCommand({
  name: 'fill',
  summary: 'fills the running sandbox from a fixtures file, without webhooks',
  details:
    'All or nothing is created. account is test (the default) or live. A venue has a name, and optionally address, city, country, timezone and capacity. An event is what POST /v2/events takes; without venue or venue_id it gets the first venue. It may also have a status (draft, the default; on_sale; cancelled) and, unless it is a draft, orders.',
  args: [{ name: 'FILE', says: 'a JSON file, or - for standard input' }],
  file: { says: 'FILE, such as', text: FIXTURES },
  options: SANDBOX_OPTIONS,
  examples: [
    { says: 'from a file', line: 'tix-webhooks fill fixtures.json' },
    { says: 'from another program', line: 'tix-webhooks fill - < fixtures.json' },
  ],
  async run({ sandbox }, [path = ''], context) {
    const { io, out } = context
    const fixtures = readObject(
      textOf(await readFile(path, 'FILE', io)),
      path === '-' ? 'Standard input' : path,
      FORM,
    )
    const client = await connect(sandbox, context)
    const made = await client.call<Record<string, number>>('POST', '/fill', fixtures)
    const counts = Object.entries(made).map(
      ([name, count]) => `${count} ${count === 1 ? name.replace(/s$/, '') : name}`,
    )
    out.print(made, `Created ${counts.join(', ')}.`)
    return EXIT.ok
  },
})
