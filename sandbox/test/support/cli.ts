import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { WAIT_LIMIT_MS } from '../../../test/support/patience.js'
import { Failure } from '../../cli/failure.js'
import type { Io } from '../../cli/io.js'
import { main } from '../../cli/main.js'

/** The result of a command line. */
export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** The lines of stdout as JSON. */
  readonly records: () => Record<string, unknown>[]
}

/** The environment of a command line. */
export interface Surroundings {
  stdin?: string | Uint8Array
  env?: Record<string, string>
  /** Whether both outputs are terminals. */
  isTTY?: boolean
  columns?: number
  cwd?: string
  /** Default: one that stops what runs until it is stopped. */
  signal?: AbortSignal
  /** Called with all text so far, of both outputs. */
  onOutput?: (all: { stdout: string; stderr: string }) => void
}

/** The arguments of a command, or all of them in one text, which is split at its spaces. */
export type Argv = string | readonly string[]

const wordsOf = (argv: Argv): readonly string[] => (typeof argv === 'string' ? argv.split(' ') : argv)

/** Runs the command line in this process and captures its output. */
export async function run(argv: Argv, surroundings: Surroundings = {}): Promise<Ran> {
  const said = { stdout: '', stderr: '' }
  const { stdin = '', isTTY, columns } = surroundings
  const sink = (name: 'stdout' | 'stderr') => ({
    write(text: string) {
      said[name] += text
      surroundings.onOutput?.(said)
    },
    ...(isTTY !== undefined && { isTTY }),
    ...(columns !== undefined && { columns }),
  })
  const io: Io = {
    stdout: sink('stdout'),
    stderr: sink('stderr'),
    stdin: async () => (typeof stdin === 'string' ? new TextEncoder().encode(stdin) : stdin),
    // Services that run on the test machine must not be found, unless the test says where.
    env: { TIX_SANDBOX_URL: 'none', ...surroundings.env },
    cwd: () => surroundings.cwd ?? '/nowhere',
    signal: surroundings.signal ?? AbortSignal.timeout(WAIT_LIMIT_MS),
  }
  const code = await main(wordsOf(argv), io)
  return { code, ...said, records: () => recordsIn(said.stdout) }
}

/** The lines of NDJSON. @throws SyntaxError when a line is invalid */
function recordsIn(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

/** The refusal of a command. @throws Error when it is not refused, and any error that is not a refusal */
export async function cliRefusalOf(work: () => unknown): Promise<{ exitCode: number; message: string }> {
  try {
    await work()
  } catch (error) {
    if (error instanceof Failure) return { exitCode: error.exitCode, message: error.message }
    throw error
  }
  throw new Error('it was not refused')
}

type Fits = (record: Record<string, unknown>) => boolean

/** Whether a record is about this event. */
export const isEvent =
  (event: string): Fits =>
  (record) =>
    record.event === event

/** Starts a command that runs until it is stopped, at the latest when the test ends: with `--json`, unless it is to print text. */
export function begin(
  argv: Argv,
  { asText = false, ...surroundings }: Surroundings & { asText?: boolean } = {},
) {
  const stopped = new AbortController()
  const said = { stdout: '', stderr: '' }
  const waiting = new Set<() => void>()
  let ended: Ran | undefined
  const lookAll = (): void => {
    for (const look of waiting) look()
  }
  const ran = run(asText ? argv : [...wordsOf(argv), '--json'], {
    ...surroundings,
    signal: stopped.signal,
    onOutput(all) {
      Object.assign(said, all)
      lookAll()
    },
  }).then((result) => {
    ended = result
    lookAll()
    return result
  })
  const until = (isThere: () => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!isThere() && ended === undefined) return
        waiting.delete(look)
        if (isThere()) resolve()
        else reject(new Error(`it ended with ${ended?.code}: ${ended?.stderr}${ended?.stdout}`))
      }
      waiting.add(look)
      look()
    })
  const records = () => recordsIn(said.stdout.slice(0, said.stdout.lastIndexOf('\n') + 1))
  const stop = (): Promise<Ran> => {
    stopped.abort()
    return ran
  }
  onTestFinished(async () => void (await stop()))
  return {
    said,
    /** Its output so far, as JSON. */
    records,
    /** Ctrl-C. */
    stop,
    /** The first group of a pattern, once it is printed. */
    async printed(pattern: RegExp): Promise<string> {
      await until(() => pattern.test(said.stdout))
      return pattern.exec(said.stdout)?.[1] ?? ''
    },
    /** The first matching record, once it exists. */
    async record(fits: Fits): Promise<Record<string, unknown>> {
      await until(() => records().some(fits))
      return records().find(fits) ?? {}
    },
    /** Resolves when this many of its records match. */
    count: (fits: Fits, count: number) => until(() => records().filter(fits).length >= count),
  }
}

/** A folder that is removed when the test ends. */
export function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tix-cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export type CliSandbox = Awaited<ReturnType<typeof sandbox>>

/** Runs `tix-webhooks sandbox` in this process, by default on a free port, until the test ends. */
export async function sandbox(
  argv: Argv = [],
  { port = '0', ...surroundings }: Surroundings & { port?: string } = {},
) {
  const folder = surroundings.cwd ?? emptyFolder()
  const session = begin(['sandbox', '--port', port, ...wordsOf(argv)], { ...surroundings, cwd: folder })
  const ready = await session.record(isEvent('ready'))
  const url = String(ready.url)
  const runHere = (words: Argv, around: Surroundings = {}): Promise<Ran> =>
    run(words, { cwd: folder, ...around, env: { TIX_SANDBOX_URL: url, ...around.env } })
  return {
    url,
    session,
    /** The folder of both: empty at first. */
    folder,
    /** The record of its start. */
    ready,
    /** Runs a command that finds this sandbox. */
    run: runHere,
    /** The same with `--json`, which must succeed: returns its records. */
    async json(...words: readonly string[]) {
      const ran = await runHere([...words, '--json'])
      if (ran.code !== 0) throw new Error(`${words.join(' ')} ended with ${ran.code}: ${ran.stderr}`)
      return ran.records()
    },
  }
}

/** Serves on a free port, or on this one, until the test ends. */
export async function listening(
  handle: RequestListener,
  port = 0,
  host = '127.0.0.1',
): Promise<{ url: string }> {
  const server = createServer(handle)
  await new Promise<void>((resolve) => void server.listen(port, host, resolve))
  onTestFinished(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  const name = host === '127.0.0.1' ? host : 'localhost'
  return { url: `http://${name}:${(server.address() as AddressInfo).port}/hooks` }
}

/** A request to a receiver. */
export interface Arrival {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
}

type Said = number | { status: number; headers?: Record<string, string>; body?: string | Uint8Array }

/**
 * Listens on a free port until the test ends, and records requests. Its URL has a query that a shell would split.
 *
 * @param answer the status, or the whole answer; default 200
 */
export async function receiver(answer: (arrival: Arrival, index: number) => Said = () => 200) {
  const arrivals: Arrival[] = []
  const { url } = await listening(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', url: path = '', headers, rawHeaders } = request
    const arrival = { method, path, headers, rawHeaders, body: Buffer.concat(chunks) }
    arrivals.push(arrival)
    const said = answer(arrival, arrivals.length - 1)
    const { status, headers: answered = {}, body = '' } = typeof said === 'number' ? { status: said } : said
    response.writeHead(status, answered).end(body)
  })
  return { url: `${url}?a=1&b=2`, port: Number(new URL(url).port), arrivals }
}
