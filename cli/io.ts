/** A destination of text: a terminal, a pipe, or a test. */
export interface Sink {
  write(text: string): void
  readonly isTTY?: boolean
  readonly columns?: number
}

/** All that a command has of its process: `bin.ts` makes it of the real one, a test makes its own. */
export interface Io {
  readonly stdout: Sink
  readonly stderr: Sink
  /** All of the standard input. @throws if there is more of it than the bound */
  readonly stdin: () => Promise<Uint8Array>
  readonly env: Readonly<Record<string, string | undefined>>
  /** The folder in which files are looked for. */
  readonly cwd: () => string
  /** Aborts when the user has had enough: Ctrl-C, or nobody reads on. */
  readonly signal: AbortSignal
}

/** Resolves when the user has had enough. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
