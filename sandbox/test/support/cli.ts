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
  signal?: AbortSignal
  /** Called with all text so far, of both outputs. */
  onOutput?: (all: { stdout: string; stderr: string }) => void
}

/** The arguments of a command, or all of them in one text, which is split at its spaces. */
export type Argv = string | readonly string[]

export const wordsOf = (argv: Argv): readonly string[] => (typeof argv === 'string' ? argv.split(' ') : argv)

/** Runs the command line in this process and captures its output. */
export async function run(argv: Argv, surroundings: Surroundings = {}): Promise<Ran> {
  const said = { stdout: '', stderr: '' }
  const sink = (name: 'stdout' | 'stderr') => ({
    write(text: string) {
      said[name] += text
      surroundings.onOutput?.(said)
    },
    ...(surroundings.isTTY !== undefined && { isTTY: surroundings.isTTY }),
    ...(surroundings.columns !== undefined && { columns: surroundings.columns }),
  })
  const { stdin = '' } = surroundings
  const io: Io = {
    stdout: sink('stdout'),
    stderr: sink('stderr'),
    stdin: async () => (typeof stdin === 'string' ? new TextEncoder().encode(stdin) : stdin),
    // Services that run on the test machine must not be found, unless the test says where.
    env: { TIX_SANDBOX_URL: 'none', ...surroundings.env },
    cwd: () => surroundings.cwd ?? '/nowhere',
    signal: surroundings.signal ?? new AbortController().signal,
  }
  const code = await main(wordsOf(argv), io)
  return { code, ...said, records: () => recordsIn(said.stdout) }
}

/** The lines of NDJSON. @throws SyntaxError when a line is invalid */
export function recordsIn(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}
