import { isAbsolute, join, relative, sep } from 'node:path'
import { type Context, defineCommand } from '../../arguments/command.js'
import { flag } from '../../arguments/options.js'
import { type Client, connect, connectIfRunning } from '../../client/client.js'
import type { EndpointView } from '../../client/control-api.js'
import { SANDBOX_OPTIONS, SANDBOX_VARIABLE } from '../../client/find-sandbox.js'
import { EXIT, type ExitCode, Failure, UsageError } from '../../failure.js'
import { ENV_FILE, readEnvFiles } from '../../send/env-file.js'
import {
  checkSecret,
  envLine,
  type FoundSecret,
  findSecret,
  newSecret,
  SECRET_VARIABLE,
  writtenSecret,
} from '../../send/signing.js'
import { printable } from '../../terminal/output.js'

/** `tix-webhooks secret`: the first step, before there is a sandbox, and what a running one signs with. */
export const secret = defineCommand({
  name: 'secret',
  summary: `prints a signing secret as a line for ${ENV_FILE}`,
  details: `It prints a new secret, or that of the endpoints if a sandbox of this folder is running. If .env.local or ${ENV_FILE} has a secret already, it prints nothing to a file or pipe, so that it is safe to run twice, and exits with 1 if that is not the secret of the sandbox.`,
  args: [
    {
      name: 'ENDPOINT',
      says: 'id of an endpoint of the running sandbox (default: all of them, if they share a secret)',
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
    if (isNew && id !== undefined) {
      throw new UsageError(
        `--new takes no endpoint. To give one a new secret: tix-webhooks endpoints rotate ${id}`,
      )
    }
    const written = writtenSecret(context.io)
    if (isNew) return printNew(written, context)
    if (written !== undefined) checkSecret(written)
    const client = await sandboxOf(id, sandbox, context)
    if (client === undefined) return printOwn(written, context)
    const isAppended = context.io.stdout.isTTY !== true && !context.out.json
    const endpoints = await endpointsOf(client, id)
    if (written !== undefined) noteWritten(written, endpoints, { id, client, isAppended, context })
    if (endpoints.length === 0 && (written === undefined || !isAppended)) throw withoutEndpoint(client)
    return written !== undefined && isAppended ? EXIT.ok : printEndpoints(endpoints, isAppended, context)
  },
})

/** The sandbox of this folder, and not one that happens to run in another. */
async function sandboxOf(
  id: string | undefined,
  flag: string | undefined,
  context: Context,
): Promise<Client | undefined> {
  const { io, out } = context
  const isNamed = flag !== undefined || Boolean(io.env[SANDBOX_VARIABLE])
  const client =
    id === undefined
      ? await connectIfRunning(flag, context).catch((error: unknown) => {
          // Another program may have the default port: a new secret needs no sandbox.
          if (!isNamed && error instanceof Failure) return undefined
          throw error
        })
      : await connect(flag, context)
  if (client === undefined) return undefined
  const { url, status } = client
  const folder = printable(String(status.folder))
  if (id === undefined && !isNamed && !isWithin(io.cwd(), status.folder)) {
    out.note(
      `The sandbox at ${url} was started in another folder, ${folder}, so this is not about its secret. For that one: tix-webhooks secret --sandbox ${url}`,
    )
    return undefined
  }
  if (status.folder !== io.cwd())
    out.note(`This is about the sandbox at ${url}, which was started in ${folder}.`)
  return client
}

function isWithin(folder: string, outer: string): boolean {
  const path = relative(outer, folder)
  return path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path)
}

/** Prints the secret if no sandbox runs: the existing one stays, and a new one is made only if there is none. */
function printOwn(written: WrittenSecret | undefined, context: Context): ExitCode {
  const { io, out } = context
  if (written !== undefined) {
    out.note(`${alreadyIn(written)} it is kept. For another one: tix-webhooks secret --new`)
    if (out.json) out.print({ secret: findSecret(undefined, io)?.secret }, '')
    return EXIT.ok
  }
  const found = findSecret(undefined, io)
  if (found === undefined) return printLine(newSecret(), context)
  out.note(`This is the ${SECRET_VARIABLE} of the environment.`)
  return printLine(found.secret, context)
}

type WrittenSecret = NonNullable<ReturnType<typeof writtenSecret>>

const alreadyIn = ({ from }: FoundSecret): string => `${from} has a ${SECRET_VARIABLE} already:`

function printNew(written: WrittenSecret | undefined, context: Context): ExitCode {
  const { io, out } = context
  if (written !== undefined && io.stdout.isFile?.(join(io.cwd(), written.from))) {
    throw new UsageError(
      `${alreadyIn(written)} a second one would hide it, or be hidden. Print the new one, and put it in the place of the old one: tix-webhooks secret --new`,
    )
  }
  if (written !== undefined) out.note(`${alreadyIn(written)} put this in its place, and not below it.`)
  return printLine(newSecret(), context)
}

function printLine(made: string, context: Context): ExitCode {
  const { io, out } = context
  out.print({ secret: made }, `${gapBefore(context)}${envLine(made)}`, { exact: true })
  if (io.stdout.isTTY && writtenSecret(io) === undefined) {
    out.note(`To keep it: tix-webhooks secret >> ${ENV_FILE}`)
  }
  return EXIT.ok
}

/** An appended line must not become part of a last line without a line break. */
const gapBefore = ({ io }: Context): string =>
  io.stdout.isTTY !== true && readEnvFiles(io).some(({ isOpenEnded }) => isOpenEnded) ? '\n' : ''

async function endpointsOf(client: Client, id: string | undefined): Promise<readonly EndpointView[]> {
  if (id !== undefined)
    return [await client.call<EndpointView>('GET', `/endpoints/${encodeURIComponent(id)}`)]
  return (await client.call<{ data: readonly EndpointView[] }>('GET', '/endpoints')).data
}

const withoutEndpoint = ({ url }: Client): Failure =>
  new Failure(
    EXIT.failed,
    `The sandbox at ${url} has no endpoint yet. Add one with: tix-webhooks endpoints add URL`,
  )

/**
 * Says that the folder has a secret already, and whether it is that of the sandbox.
 *
 * @throws Failure if it is another one, and nothing is printed
 */
function noteWritten(
  written: WrittenSecret,
  endpoints: readonly EndpointView[],
  {
    id,
    client,
    isAppended,
    context: { out },
  }: { id: string | undefined; client: Client; isAppended: boolean; context: Context },
): void {
  const isTheirs = endpoints.length === 0 || endpoints.some(({ secrets }) => secrets.includes(written.secret))
  if (isTheirs) {
    if (isAppended) out.note(`${alreadyIn(written)} it is kept.`)
    return
  }
  const other = `${alreadyIn(written)} it is not the secret of ${endpoints.length === 1 ? printable(endpoints[0]?.url ?? '') : 'any endpoint'} in the sandbox at ${client.url}, so your app will refuse its deliveries.`
  if (!isAppended) {
    out.warn(`${other} Put the secret of the sandbox in its place.`)
    return
  }
  throw new Failure(
    EXIT.failed,
    `${other} Nothing was printed, because a second line would hide the first, or be hidden. To see the secret of the sandbox, and put it in its place: tix-webhooks secret ${id === undefined ? '' : `${id} `}--sandbox ${client.url} --json`,
  )
}

/**
 * Endpoints that share a secret share a line: if an `.env` file has a name twice, only the last counts.
 *
 * @throws UsageError if there are several secrets for a file
 */
function printEndpoints(endpoints: readonly EndpointView[], isAppended: boolean, context: Context): ExitCode {
  const values = new Set(endpoints.map(({ secrets }) => secrets[0] ?? ''))
  const named = (some: readonly EndpointView[]): string =>
    some.map(({ id, url }) => `${id} ${printable(url)}`).join(', ')
  if (values.size > 1 && isAppended) {
    throw new UsageError(
      `The endpoints have different secrets, and a file has one ${SECRET_VARIABLE}. Name the endpoint: tix-webhooks secret ENDPOINT, which is one of ${named(endpoints)}.`,
    )
  }
  for (const value of values) {
    const sharing = endpoints.filter(({ secrets }) => (secrets[0] ?? '') === value)
    context.out.print(
      { secret: value, endpoints: sharing.map(({ id, url }) => ({ id, url })) },
      `${gapBefore(context)}${values.size === 1 ? '' : `# ${named(sharing)}\n`}${envLine(value)}`,
      { exact: true },
    )
  }
  return EXIT.ok
}
