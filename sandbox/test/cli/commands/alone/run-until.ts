import { type Argv, type Ran, run, type Surroundings } from '../../../support/cli.js'

/** Runs a command that prints text until Ctrl-C, which comes when the work with the URL that it prints is done. */
export async function runUntil(
  argv: Argv,
  printed: RegExp,
  work: (url: string) => Promise<unknown>,
  surroundings: Surroundings = {},
): Promise<Ran> {
  const stopped = new AbortController()
  let isFound = false
  return run(argv, {
    ...surroundings,
    signal: stopped.signal,
    onOutput({ stdout }) {
      const url = printed.exec(stdout)?.[1]
      if (isFound || url === undefined) return
      isFound = true
      void work(url).finally(() => stopped.abort())
    },
  })
}
