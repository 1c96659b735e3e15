import { createColors } from 'picocolors'
import type { Io, Sink } from '../io.js'
import { folded } from './layout.js'

type Colors = ReturnType<typeof createColors>

/** How the user wants it said. */
export interface OutputOptions {
  readonly json?: boolean | undefined
  readonly quiet?: boolean | undefined
  /** As told by a flag; undefined if the surroundings decide. */
  readonly color?: boolean | undefined
}

/** Says each thing once: to people as text, to programs as JSON. */
export interface Output {
  readonly json: boolean
  /** For what goes to stdout. */
  readonly colors: Colors
  /** How the user calls this command: `tix-webhooks`, or with `npx` before it. */
  readonly program: string
  /** How many columns stdout has: `Infinity` if it is no terminal. */
  readonly columns: number
  /**
   * On stdout: the text, or with `--json` the record. On a terminal its lines end between words, unless it is `exact`: made to be copied.
   */
  tell(record: object, text: string, form?: { readonly exact?: boolean }): void
  /** On stdout, for people: the head of a table. */
  heading(text: string): void
  /** On stderr, for people: nothing that a program would need. */
  note(text: string): void
  /** On stderr, though quiet: what must not be missed. */
  warn(text: string): void
  /** On stderr: why the command ends here. */
  fail(text: string): void
  /** On stderr, on a terminal: takes the place of the progress before. None takes it away. */
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
    tell(record, text, { exact = false } = {}) {
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

/** Foreign text without control characters, which could move the cursor or change colours. */
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
