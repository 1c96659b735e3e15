import { resolve } from 'node:path'
import type { Sandbox } from '../../../index.js'
import { loadSandbox, type ReservedPort } from '../../../internal.js'
import { type Context, defineCommand } from '../../arguments/command.js'
import { isSandboxAt } from '../../client/client.js'
import { announce, DEFAULT_PORT, isLoopback, SANDBOX_FILE, writtenUrl } from '../../client/find-sandbox.js'
import { asUsage, EXIT, Failure, messageOf } from '../../failure.js'
import { aborted } from '../../io.js'
import { printChanges, printRequest, printStart } from '../../render/sandbox-lines.js'
import { START_OPTIONS, type StartValues, sandboxOptions } from '../../sandbox-options.js'
import { findSecret, newSecret } from '../../send/signing.js'

/** `tix-webhooks sandbox`: the one command that makes a sandbox. */
export const sandbox = defineCommand({
  name: 'sandbox',
  summary: 'runs the ticketing service on this machine until Ctrl-C',
  details:
    'The whole API, and signed webhooks with retries for 72 hours, which you can fast-forward. It needs no account and no network. It signs with the secret of --secret, TIX_SIGNING_SECRET, .env.local or .env, and otherwise with a new one. It prints an API key and the secret, then logs each API request, delivery and attempt.',
  options: START_OPTIONS,
  examples: [
    { says: 'with a receiver', line: "tix-webhooks sandbox --to 'http://localhost:3000/hooks'" },
    {
      says: 'for tests: any free port, the same ids in each run, a clock that stands still',
      line: 'tix-webhooks sandbox --port 0 --seed 1 --start-at 2026-12-01T12:00:00Z --freeze --json',
    },
    {
      says: 'if the service signs in another way, and does not retry an attempt without an answer',
      line: 'tix-webhooks sandbox --assume signature=concat --assume network-error=final',
    },
    { says: 'a bad day', line: 'tix-webhooks sandbox --chaos duplicate=0.2,stale=0.1 --retry fast' },
  ],
  async run(values, _words, context) {
    const { io, out } = context
    const given = findSecret(values.secret, io)
    const secret = given?.secret ?? newSecret()
    const state = values.state === undefined ? undefined : resolve(io.cwd(), values.state)
    const options = sandboxOptions({ ...values, state }, secret)
    const { createSandboxOn, reservePort } = await loadSandbox()
    // The port comes first: a start that is refused must change nothing and send nothing.
    const port = await held(reservePort, values, io.signal)
    let running: Sandbox
    try {
      running = await asUsage(() => {
        const made = created(
          () =>
            createSandboxOn(port, io.cwd(), {
              ...options,
              onWarning: out.warn,
              onRequest: (request) => printRequest(request, out),
            }),
          options.stateFile,
        )
        // In the same turn, because restored deliveries are sent in the next one, and must be signed with the secret given now.
        keepSecret(made, values, given?.secret)
        return made
      })
    } catch (error) {
      await port.close()
      throw error
    }
    try {
      const { url } = running
      if (!isLoopback(values.host)) {
        out.warn(`It listens on ${values.host}: anyone who can reach this machine can use it.`)
      }
      const withdraw = values.port === DEFAULT_PORT ? undefined : await announced(url, context)
      try {
        printStart(running, { out, keys: values.keys, secret: { secret, from: given?.from } })
        const unsubscribe = printChanges(running, { out, retry: values.retry })
        await aborted(io.signal)
        unsubscribe()
      } finally {
        await withdraw?.()
      }
    } finally {
      await running.close()
    }
    return EXIT.ok
  },
})

/** Reports a state file that cannot be used as a usage error: only the user can fix it. */
function created(create: () => Sandbox, stateFile: string | undefined): Sandbox {
  try {
    return create()
  } catch (cause) {
    if (cause instanceof TypeError || stateFile === undefined) throw cause
    throw new Failure(EXIT.usage, messageOf(cause), { cause })
  }
}

/** An endpoint that a state file has already keeps its secret, unless one is given. */
function keepSecret({ endpoints }: Sandbox, { to }: StartValues, secret: string | undefined): void {
  if (secret === undefined) return
  for (const { id, url, secrets } of endpoints.list()) {
    if (to.includes(url) && secrets[0] !== secret) endpoints.update(id, { secret })
  }
}

async function held(
  reservePort: Awaited<ReturnType<typeof loadSandbox>>['reservePort'],
  { port, host }: StartValues,
  signal: AbortSignal,
): Promise<ReservedPort> {
  try {
    return await reservePort({ port, host })
  } catch (cause) {
    const there = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
    if (await isSandboxAt(there, signal)) {
      throw new Failure(
        EXIT.usage,
        `A sandbox is already running at ${there}. To add your endpoint to it: tix-webhooks endpoints add URL. To run another one: --port 0`,
        { cause },
      )
    }
    throw new Failure(EXIT.usage, messageOf(cause), { cause })
  }
}

/** Announces the sandbox. A folder that cannot be written to only costs a note. */
async function announced(url: string, { io, out }: Context): Promise<(() => Promise<void>) | undefined> {
  const other = writtenUrl(io.cwd())
  if (other !== undefined && other !== url && (await isSandboxAt(other, io.signal))) {
    out.note(`Commands in this folder still use the sandbox at ${other}: name this one with --sandbox ${url}`)
    return undefined
  }
  try {
    return announce(url, io)
  } catch (error) {
    out.note(
      `${SANDBOX_FILE} cannot be written (${messageOf(error)}): name this sandbox with --sandbox ${url}`,
    )
    return undefined
  }
}
