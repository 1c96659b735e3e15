import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Argv, type Ran, run, type Surroundings, wordsOf } from './cli.js'
import { begin, isEvent, type Session } from './cli-session.js'

/** A sandbox started by the command line, and commands that find it. */
export interface CliSandbox {
  readonly url: string
  readonly session: Session
  /** The folder of both: empty at first. */
  readonly folder: string
  /** The record of its start. */
  readonly ready: Record<string, unknown>
  /** Runs a command that finds this sandbox. */
  run(argv: Argv, surroundings?: Surroundings): Promise<Ran>
  /** The same with `--json`, which must succeed: returns its records. */
  json(...argv: readonly string[]): Promise<Record<string, unknown>[]>
}

/** A folder that is removed when the test ends. */
export function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tix-cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Runs `tix-webhooks sandbox` in this process, by default on a free port, until the test ends. */
export async function sandbox(
  argv: Argv = [],
  { port = '0', ...surroundings }: Surroundings & { port?: string } = {},
): Promise<CliSandbox> {
  const folder = surroundings.cwd ?? emptyFolder()
  const session = begin(['sandbox', '--port', port, ...wordsOf(argv)], { ...surroundings, cwd: folder })
  const ready = await session.record(isEvent('ready'))
  const url = String(ready.url)
  const runHere = (words: Argv, around: Surroundings = {}): Promise<Ran> =>
    run(words, { cwd: folder, ...around, env: { TIX_SANDBOX_URL: url, ...around.env } })
  return {
    url,
    session,
    folder,
    ready,
    run: runHere,
    async json(...words) {
      const ran = await runHere([...words, '--json'])
      if (ran.code !== 0) throw new Error(`${words.join(' ')} ended with ${ran.code}: ${ran.stderr}`)
      return ran.records()
    },
  }
}
