import { connect } from '../client.js'
import { defineCommand } from '../command.js'
import type { EndpointView } from '../control-api.js'
import { EXIT, Failure, UsageError } from '../failure.js'
import { SANDBOX_OPTIONS } from '../find-sandbox.js'
import { flag } from '../options.js'
import { type Output, printable } from '../output.js'
import { envLine, newSecret } from '../signing.js'

/** `tix-webhooks secret`: what the receiver needs to know. */
export const secret = defineCommand({
  name: 'secret',
  summary: 'shows the signing secret of an endpoint, as a line for .env',
  args: [
    {
      name: 'ENDPOINT',
      says: 'id of the endpoint (default: all that have one of their own)',
      optional: true,
    },
  ],
  options: {
    new: flag('makes a new secret instead, and tells it to nobody'),
    ...SANDBOX_OPTIONS,
  },
  examples: [
    { says: 'what the receiver needs', line: 'tix-webhooks secret >> .env' },
    { says: 'a new one, without a sandbox', line: 'tix-webhooks secret --new' },
  ],
  async run({ new: isNew, sandbox }, [id], context) {
    const { out } = context
    if (isNew) {
      if (id !== undefined)
        throw new UsageError(`--new is of no endpoint: tix-webhooks endpoints rotate ${id}`)
      const made = newSecret()
      out.tell({ secret: made }, envLine(made))
      return EXIT.ok
    }
    const client = await connect(sandbox, context)
    const endpoints =
      id === undefined
        ? (await client.call<{ data: readonly EndpointView[] }>('GET', '/endpoints')).data
        : [await client.call<EndpointView>('GET', `/endpoints/${encodeURIComponent(id)}`)]
    if (endpoints.length === 0) {
      throw new Failure(
        EXIT.failed,
        'The sandbox has no endpoint yet. Add one with: tix-webhooks endpoints add URL',
      )
    }
    tellSecrets(endpoints, out)
    return EXIT.ok
  },
})

/** Endpoints that share a secret share a line: the same name twice in an `.env` file would hide one of them. */
function tellSecrets(endpoints: readonly EndpointView[], out: Output): void {
  const values = new Set(endpoints.map(({ secrets }) => secrets[0] ?? ''))
  for (const value of values) {
    const sharing = endpoints.filter(({ secrets }) => (secrets[0] ?? '') === value)
    const about = sharing.map(({ id, url }) => `${id} ${printable(url)}`).join(', ')
    out.tell(
      { secret: value, endpoints: sharing.map(({ id, url }) => ({ id, url })) },
      values.size === 1 ? envLine(value) : `# ${about}\n${envLine(value)}`,
    )
  }
}
