import { createColors } from 'picocolors'
import type { Io, Sink } from './io.js'

type Colors = ReturnType<typeof createColors>

/** How the user wants it said. */
export interface OutputOptions {
  readonly json?: boolean | undefined
  readonly quiet?: boolean | undefined
  /** As told by a flag; undefined where the surroundings decide. */
  readonly color?: boolean | undefined
}

/** Says each thing once: to people as text, to programs as JSON. */
export interface Output {
  readonly json: boolean
  /** For what goes to stdout. */
  readonly colors: Colors
  /** How the user calls this command: `tix-webhooks`, or with `npx` before it. */
  readonly program: string
  /** On stdout: the text, or with `--json` the record. */
  tell(record: object, text: string): void
  /** On stderr, for people: nothing that a program would need. */
  note(text: string): void
  /** On stderr, though quiet: what must not be missed. */
  warn(text: string): void
  /** On stderr: why the command ends here. */
  fail(text: string): void
  /** On stderr, on a terminal: takes the place of the progress before. None takes it away. */
  progress(text?: string): void
}

const CLEAR_LINE = '\r\u001b[2K'

/** Where a command says what it has to say. */
export function createOutput(
  { stdout, stderr, env }: Pick<Io, 'stdout' | 'stderr' | 'env'>,
  { json = false, quiet = false, color }: OutputOptions,
): Output {
  const colors = createColors(!json && isColored(stdout, env, color))
  const errorColors = createColors(isColored(stderr, env, color))
  let inProgress = false
  const clear = (): void => {
    if (inProgress) stderr.write(CLEAR_LINE)
    inProgress = false
  }
  const program = programOf(env)
  const say = (text: string): string => printable(withProgram(text, program))
  return {
    json,
    colors,
    program,
    tell(record, text) {
      clear()
      stdout.write(`${json ? jsonLine(record) : text}\n`)
    },
    note(text) {
      if (quiet) return
      clear()
      stderr.write(`${errorColors.dim(say(text))}\n`)
    },
    warn(text) {
      clear()
      stderr.write(`${errorColors.yellow(say(text))}\n`)
    },
    fail(text) {
      clear()
      stderr.write(`${errorColors.red(say(text))}\n`)
    },
    progress(text) {
      clear()
      if (text === undefined || quiet || stderr.isTTY !== true) return
      const width = stderr.columns ?? 80
      stderr.write(errorColors.dim(text.length < width ? text : `${text.slice(0, width - 2)}…`))
      inProgress = true
    },
  }
}

/** Who has it in a project alone, and runs it by `npx`, has no command `tix-webhooks`. */
function programOf({ npm_command, npm_lifecycle_event }: Io['env']): string {
  const isNpx = npm_command === 'exec' || npm_lifecycle_event === 'npx'
  return isNpx ? 'npx tix-webhooks' : 'tix-webhooks'
}

/** A hint, with the commands in it as the user would type them: they stand at its beginning, or after `: `, `. ` or `(`. */
export function withProgram(text: string, program: string): string {
  return text.replaceAll(/(^|: |\. |\()tix-webhooks (?=[a-z-])/g, `$1${program} `)
}

/** @see https://no-color.org and https://force-color.org */
function isColored(sink: Sink, env: Io['env'], color: boolean | undefined): boolean {
  if (color !== undefined) return color
  if (env.NO_COLOR) return false
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false'
  return sink.isTTY === true && env.TERM !== 'dumb'
}

/** With what a terminal might take for a command written as JSON can write it, too. */
function jsonLine(record: object): string {
  return JSON.stringify(record).replaceAll(
    /[\u007f-\u009f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  )
}

/** A text of somebody else's, without what would move the cursor, colour the line or ring the bell. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '\ufffd')
}

/** Somebody else's text on one line, and no longer than so many characters. */
export function oneLine(text: string, width: number): string {
  // No more is looked at than can be shown: it may be very long.
  const line = printable(text.slice(0, width * 4).replaceAll(/\s+/g, ' ')).trim()
  const characters = [...line]
  const isWhole = characters.length <= width && text.length <= width * 4
  return isWhole
    ? line
    : `${characters
        .slice(0, width - 1)
        .join('')
        .trimEnd()}…`
}

/** Lines whose cells stand below each other. A column that is empty throughout is left out. */
export function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = []
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, widthOf(cell))
    })
  }
  return rows.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
      .filter((_cell, column) => widths[column] !== 0)
      .join('  ')
      .trimEnd(),
  )
}

/** On a terminal: colours take no place. */
function widthOf(text: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a colour begins with one
  return [...text.replaceAll(/\u001b\[\d+m/g, '')].length
}
