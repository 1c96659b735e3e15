import { createColors } from 'picocolors'
import type { Io, Sink } from '../io.js'
import { folded } from './layout.js'

type Colors = ReturnType<typeof createColors>

/** The form of the output that the user asked for. */
export interface OutputOptions {
  readonly json?: boolean | undefined
  readonly quiet?: boolean | undefined
  /** The flag `--color` or `--no-color`; undefined if the environment decides. */
  readonly color?: boolean | undefined
}

/** Prints for people as text, or for programs as JSON. */
export interface Output {
  readonly json: boolean
  /** Colours for stdout. */
  readonly colors: Colors
  /** How the user calls this command: `tix-webhooks`, or with `npx` before it. */
  readonly program: string
  /** How many columns stdout has: `Infinity` if it is no terminal. */
  readonly columns: number
  /**
   * Prints the text to stdout, or with `--json` the record. On a terminal, lines wrap between words, unless they are `exact`: made to be copied.
   */
  print(record: object, text: string, form?: { readonly exact?: boolean }): void
  /** Prints the head of a table to stdout; not with `--json`. */
  heading(text: string): void
  /** Prints to stderr what only people need; not with `--quiet`. */
  note(text: string): void
  /** Prints a warning to stderr, even with `--quiet`. */
  warn(text: string): void
  /** Prints to stderr why the command fails. */
  fail(text: string): void
  /** Replaces the line of progress on stderr, if that is a terminal; without a text, removes it. */
  progress(text?: string): void
}

const DEFAULT_COLUMNS = 80
const MIN_COLUMNS = 20
const CLEAR_LINE = '\r\u001b[2K'

/** The output of a command. */
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
  const say = (text: string, paint: (text: string) => string): void => {
    clear()
    const lines = folded(printable(withProgram(text, program)), columnsOf(stderr))
    stderr.write(`${paint(lines)}\n`)
  }
  return {
    json,
    colors,
    program,
    get columns() {
      return columnsOf(stdout)
    },
    print(record, text, { exact = false } = {}) {
      clear()
      stdout.write(`${json ? jsonLine(record) : exact ? text : folded(text, columnsOf(stdout))}\n`)
    },
    heading(text) {
      if (json) return
      clear()
      stdout.write(`${colors.dim(text)}\n`)
    },
    note(text) {
      if (!quiet) say(text, String)
    },
    warn(text) {
      say(text, errorColors.magenta)
    },
    fail(text) {
      say(text, errorColors.red)
    },
    progress(text) {
      clear()
      if (text === undefined || quiet || stderr.isTTY !== true) return
      const width = columnsOf(stderr)
      stderr.write(errorColors.dim(text.length < width ? text : `${text.slice(0, width - 2)}…`))
      inProgress = true
    },
  }
}

/** How many columns there are: at least as many as words need, and `Infinity` if it is no terminal. */
export function columnsOf({ isTTY, columns }: Sink): number {
  return isTTY === true ? Math.max(columns || DEFAULT_COLUMNS, MIN_COLUMNS) : Number.POSITIVE_INFINITY
}

/** The command to show in hints. A user who runs it by `npx` may not have `tix-webhooks` on the path. */
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

/** A record as a line of JSON, with the control characters that `JSON.stringify` leaves as they are escaped for terminals. */
function jsonLine(record: object): string {
  return JSON.stringify(record).replaceAll(
    /[\u007f-\u009f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  )
}

/** Foreign text without control characters, which could move the cursor or change colours. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern removes them
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '\ufffd')
}

/** Foreign text on one line, cut to `width` characters. */
export function oneLine(text: string, width: number): string {
  // The text may be very long: only the part that can be shown is read.
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
