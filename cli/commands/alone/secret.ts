import { type Context, defineCommand } from '../../arguments/command.js'
import { flag } from '../../arguments/options.js'
import { type Client, connect, connectIfRunning } from '../../client/client.js'
import type { EndpointView } from '../../client/control-api.js'
import { SANDBOX_OPTIONS, SANDBOX_VARIABLE } from '../../client/find-sandbox.js'
import { EXIT, type ExitCode, Failure, UsageError } from '../../failure.js'
import { ENV_FILE, readEnvFile } from '../../send/env-file.js'
import { envLine, findSecret, newSecret, SECRET_VARIABLE } from '../../send/signing.js'
import { printable } from '../../terminal/output.js'

/** `tix-webhooks secret`: the first step, before there is a sandbox, and what a running one signs with. */
export const secret = defineCommand({
  name: 'secret',
  summary: `prints a signing secret as a line for ${ENV_FILE}`,
  details: `Without a running sandbox it prints a new secret, or nothing if ${ENV_FILE} of this folder has one already, so that it is safe to run twice. With a running sandbox it prints the secret of its endpoints.`,
  args: [
    {
      name: 'ENDPOINT',
      says: 'id of an endpoint of the running sandbox (default: all of them)',
      optional: true,
    },
  ],
  options: {
    new: flag('prints a new secret even if there is one already'),
    ...SANDBOX_OPTIONS,
  },
  examples: [
    { says: 'for your app and for the sandbox', line: `tix-webhooks secret >> ${ENV_FILE}` },
    { says: 'another one', line: 'tix-webhooks secret --new' },
  ],
  async run({ new: isNew, sandbox }, [id], context) {
    if (isNew) {
      if (id !== undefined) {
        throw new UsageError(
          `--new is for no endpoint. To give one a new secret: tix-webhooks endpoints rotate ${id}`,
        )
      }
      return printLine(newSecret(), context)
    }
    const isNamed = sandbox !== undefined || context.io.env[SANDBOX_VARIABLE] !== undefined
    const client =
      id === undefined
        ? await connectIfRunning(sandbox, context).catch((error: unknown) => {
            // Another program may have the default port: a new secret needs no sandbox.
            if (!isNamed && error instanceof Failure) return undefined
            throw error
          })
        : await connect(sandbox, context)
    return client === undefined ? printOwn(context) : printEndpoints(await endpointsOf(client, id), context)
  },
})

/** Prints the secret if no sandbox runs: the existing one stays, and a new one is made only if there is none. */
function printOwn(context: Context): ExitCode {
  const { io, out } = context
  const found = findSecret(undefined, io)
  if (found === undefined) return printLine(newSecret(), context)
  if (found.from !== ENV_FILE) {
    out.note(`This is the ${SECRET_VARIABLE} of the environment.`)
    return printLine(found.secret, context)
  }
  out.note(
    `${ENV_FILE} has a ${SECRET_VARIABLE} already: it is kept. For another one: tix-webhooks secret --new`,
  )
  if (out.json) out.print({ secret: found.secret }, '')
  return EXIT.ok
}

function printLine(made: string, context: Context): ExitCode {
  const { io, out } = context
  out.print({ secret: made }, `${gapBefore(context)}${envLine(made)}`, { exact: true })
  if (io.stdout.isTTY) out.note(`To keep it: tix-webhooks secret >> ${ENV_FILE}`)
  return EXIT.ok
}

/** A line that is appended must not become part of a last line that has no end. */
const gapBefore = ({ io }: Context): string =>
  io.stdout.isTTY !== true && readEnvFile(io)?.isOpenEnded ? '\n' : ''

async function endpointsOf(client: Client, id: string | undefined): Promise<readonly EndpointView[]> {
  if (id !== undefined)
    return [await client.call<EndpointView>('GET', `/endpoints/${encodeURIComponent(id)}`)]
  const { data } = await client.call<{ data: readonly EndpointView[] }>('GET', '/endpoints')
  if (data.length > 0) return data
  throw new Failure(
    EXIT.failed,
    `The sandbox at ${client.url} has no endpoint yet. Add one with: tix-webhooks endpoints add URL`,
  )
}

/** Endpoints that share a secret share a line: the same name twice in an `.env` file would hide one of them. */
function printEndpoints(endpoints: readonly EndpointView[], context: Context): ExitCode {
  const values = new Set(endpoints.map(({ secrets }) => secrets[0] ?? ''))
  let gap = gapBefore(context)
  for (const value of values) {
    const sharing = endpoints.filter(({ secrets }) => (secrets[0] ?? '') === value)
    const about = sharing.map(({ id, url }) => `${id} ${printable(url)}`).join(', ')
    context.out.print(
      { secret: value, endpoints: sharing.map(({ id, url }) => ({ id, url })) },
      `${gap}${values.size === 1 ? '' : `# ${about}\n`}${envLine(value)}`,
      { exact: true },
    )
    gap = ''
  }
  return EXIT.ok
}
