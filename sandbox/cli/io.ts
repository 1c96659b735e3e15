/** A destination of text: a terminal, a pipe, or a test. */
export interface Sink {
  write(text: string): void
  /** Whether what is written goes to this file. */
  readonly isFile?: (path: string) => boolean
  readonly isTTY?: boolean
  readonly columns?: number
}

/** Everything that a command uses of its process: `bin.ts` passes the real one, a test its own. */
export interface Io {
  readonly stdout: Sink
  readonly stderr: Sink
  /** Reads the whole standard input. @throws if it is larger than the limit */
  readonly stdin: () => Promise<Uint8Array>
  readonly env: Readonly<Record<string, string | undefined>>
  /** The folder in which files are looked for. */
  readonly cwd: () => string
  /** Aborts when the user stops the command: by Ctrl-C, or by closing the pipe that it writes to. */
  readonly signal: AbortSignal
}

/** Resolves when the user stops the command. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
