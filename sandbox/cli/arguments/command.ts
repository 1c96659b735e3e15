import type { ExitCode } from '../failure.js'
import type { Io } from '../io.js'
import type { Output } from '../terminal/output.js'
import { flag, type OptionTable, type Values } from './options.js'

/** A positional argument. */
export interface Argument {
  /** The name in the help, such as `KIND`. */
  readonly name: string
  readonly says: string
  readonly optional?: true
  /** Takes all that follow, too. Only the last one may. */
  readonly rest?: true
}

/** A line that works. The tests run each of them. */
interface Example {
  readonly says: string
  /** The line to type, as a shell reads it. */
  readonly line: string
}

/** The environment that a command runs in. */
export interface Context {
  readonly io: Io
  readonly out: Output
}

/** One command: its help, its options and its work. */
export interface Command<Table extends OptionTable = OptionTable> {
  /** One word, or two: `endpoints add`. */
  readonly name: string
  readonly summary: string
  /** More, in whole sentences. */
  readonly details?: string
  readonly args?: readonly Argument[]
  /** An example of the file that the command reads, for the tests. */
  readonly file?: { readonly says: string; readonly text: string }
  readonly options: Table
  readonly examples: readonly [Example, ...Example[]]
  /** @param words what is no option, as many as `args` allows */
  run(values: Values<Table & CommonOptions>, words: readonly string[], context: Context): Promise<ExitCode>
}

/** The options of every command. */
export const COMMON_OPTIONS = {
  json: flag('prints one JSON object per line'),
  quiet: flag('prints no notes and no progress to stderr, only warnings and errors', { short: 'q' }),
  color: flag('colours the output; --no-color does not (default: on a terminal, unless NO_COLOR is set)'),
  help: flag('prints this help', { short: 'h' }),
} satisfies OptionTable

/** Their table. */
export type CommonOptions = typeof COMMON_OPTIONS

/** A command, with the types of its values read from its table. */
export function defineCommand<const Table extends OptionTable>(command: Command<Table>): Command {
  return command
}
