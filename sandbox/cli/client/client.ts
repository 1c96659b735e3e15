import { isSuccessStatus, VERSION } from '../../internal.js'
import type { Context } from '../arguments/command.js'
import { codeOf, EXIT, Failure, messageOf } from '../failure.js'
import { isRefusal, isStatus, type SandboxStatus } from './control-api.js'
import { type Candidate, candidates, SANDBOX_FILE } from './find-sandbox.js'
import { type PlainAnswer, request } from './request.js'

/** A running sandbox, spoken to by its control API alone. */
export interface Client {
  readonly url: string
  /** The status when the command began. */
  readonly status: SandboxStatus
  /** @throws Failure that says what the sandbox said, or that it has gone */
  call<Answer>(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<Answer>
  /** The resource at a path; undefined if there is none. */
  find<Answer>(path: string): Promise<Answer | undefined>
  /** The text of a path of its whole interface. */
  text(path: string): Promise<string>
}

/** The time limit of a request. A sandbox answers at once unless it is very busy; another server may never answer. */
const SILENCE_MS = 10_000
const NOT_FOUND = 404

/**
 * Finds the running sandbox.
 *
 * @param flag the value of `--sandbox`
 * @throws Failure with the exit code 3 when there is none
 */
export async function connect(flag: string | undefined, context: Context): Promise<Client> {
  const client = await connectIfRunning(flag, context)
  if (client !== undefined) return client
  const places = candidates(flag, context.io)
  throw places.length === 0
    ? new Failure(
        EXIT.noSandbox,
        'This command needs a running sandbox, and TIX_SANDBOX_URL or --sandbox is none.',
      )
    : noSandbox(placesOf(places))
}

/** The same, but undefined if nothing listens, unless the user named the place. @throws Failure if something else listens */
export async function connectIfRunning(
  flag: string | undefined,
  { io }: Context,
): Promise<Client | undefined> {
  for (const candidate of candidates(flag, io)) {
    const url = candidate.url.replace(/\/+$/, '')
    const status = await statusAt({ ...candidate, url }, io.signal).catch((error: unknown) => {
      // A file left behind by a crash may name a port that another program uses now.
      if (candidate.isFromFile && error instanceof Failure) return undefined
      throw error
    })
    if (status !== undefined) return { url, status, ...calls(url, io.signal) }
    if (candidate.isUserNamed) throw noSandbox(`${url} (${candidate.source})`)
  }
  return undefined
}

/** The URLs that were tried, each with its source, for a message. */
function placesOf(places: readonly Candidate[]): string {
  const listed = places.map(({ url, source }) => `${url} (${source})`).join(' or ')
  const hasOtherPlace = places.some((place) => place.isUserNamed ?? place.isFromFile)
  return hasOtherPlace ? listed : `${listed}, and no ${SANDBOX_FILE} in this folder or above names one`
}

/** Whether a sandbox of any version is at a URL. */
export async function isSandboxAt(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    return isStatus(
      readJson(await request({ method: 'GET', url: `${url}/_sandbox`, signal, silenceMs: SILENCE_MS })),
    )
  } catch {
    return false
  }
}

const noSandbox = (place: string): Failure =>
  new Failure(EXIT.noSandbox, `No sandbox is running at ${place}. Start one with: tix-webhooks sandbox`)

/** Checks the version up to its first number that is not 0: later numbers change nothing that the client uses. */
function compatible(status: SandboxStatus, url: string): SandboxStatus {
  const significant = (version: string): string | undefined => /^(0\.)*\d+/.exec(version)?.[0]
  if (significant(status.version) === significant(VERSION)) return status
  throw new Failure(
    EXIT.noSandbox,
    `The sandbox at ${url} is version ${status.version}, and this command is ${VERSION}: run both from the same installation.`,
  )
}

/** Undefined if nothing listens. */
async function statusAt({ url, source }: Candidate, signal: AbortSignal): Promise<SandboxStatus | undefined> {
  let answer: PlainAnswer
  try {
    answer = await request({ method: 'GET', url: `${url}/_sandbox`, signal, silenceMs: SILENCE_MS })
  } catch (cause) {
    if (signal.aborted) throw cause
    const code = codeOf(cause)
    if (code === 'ECONNREFUSED') return undefined
    throw new Failure(
      EXIT.noSandbox,
      `There is no sandbox at ${url} (${source}): ${code ?? messageOf(cause)}.`,
      { cause },
    )
  }
  const said = readJson(answer)
  if (isStatus(said)) return compatible(said, url)
  const why = isRefusal(said)
    ? said.error.message.replace(/\.$/, '')
    : `it answers ${answer.status} to GET /_sandbox`
  throw new Failure(
    EXIT.noSandbox,
    `Something other than a sandbox is at ${url} (${source}): ${why}. Name yours with --sandbox URL, or start one on another port: tix-webhooks sandbox --port 0`,
  )
}

function calls(url: string, signal: AbortSignal): Pick<Client, 'call' | 'find' | 'text'> {
  const send = async (method: string, path: string, body?: object): Promise<PlainAnswer> => {
    try {
      return await request({
        method,
        url: `${url}${path}`,
        headers: method === 'GET' ? {} : { 'content-type': 'application/json' },
        ...(method !== 'GET' && { body: new TextEncoder().encode(JSON.stringify(body ?? {})) }),
        // A removal is sent although the user has stopped the command, but it is not waited for without a limit.
        ...(method === 'DELETE' ? { silenceMs: SILENCE_MS } : { signal }),
      })
    } catch (cause) {
      if (signal.aborted) throw cause
      throw new Failure(
        EXIT.noSandbox,
        `The sandbox at ${url} is gone: ${codeOf(cause) ?? messageOf(cause)}.`,
        { cause },
      )
    }
  }
  return {
    async call<Answer>(method: string, path: string, body?: object) {
      const answer = await send(method, `/_sandbox${path}`, body)
      const said = readJson(answer)
      if (isSuccessStatus(answer.status)) return said as Answer
      throw refusal(answer.status, said)
    },
    async find<Answer>(path: string) {
      const answer = await send('GET', `/_sandbox${path}`)
      if (answer.status === NOT_FOUND) return undefined
      const said = readJson(answer)
      if (isSuccessStatus(answer.status)) return said as Answer
      throw refusal(answer.status, said)
    },
    async text(path) {
      const answer = await send('GET', path)
      if (isSuccessStatus(answer.status)) return new TextDecoder().decode(answer.body)
      throw refusal(answer.status, readJson(answer))
    },
  }
}

function refusal(status: number, said: unknown): Failure {
  const message = isRefusal(said) ? said.error.message : `The sandbox answered ${status}.`
  return new Failure(status < 500 ? EXIT.usage : EXIT.failed, message)
}

function readJson({ body }: PlainAnswer): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body))
  } catch {
    return undefined
  }
}
