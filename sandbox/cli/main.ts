import { VERSION } from '../internal.js'
import { checkWords, parse, readValues } from './arguments/arguments.js'
import { COMMON_OPTIONS, type Command, type CommonOptions } from './arguments/command.js'
import { find } from './arguments/find-command.js'
import { commandHelp, overview } from './arguments/help.js'
import type { OptionTable, Values } from './arguments/options.js'
import { commands } from './commands.js'
import { EXIT, Failure, messageOf, UsageError } from './failure.js'
import type { Io } from './io.js'
import { columnsOf, createOutput, type Output, type OutputOptions } from './terminal/output.js'

/**
 * Runs the command line `tix-webhooks`. It uses its process only through `io`.
 *
 * @param argv what stands after the command's name
 * @returns the exit code: 0 done, 1 a check failed, 2 the command line is invalid, 3 no sandbox is running
 */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  // Errors before the flags are known are printed as if there were none.
  let out = createOutput(io, {})
  try {
    const request = find(argv, commands)
    if (request.what === 'version') {
      out = createOutput(io, request.flags)
      out.print({ version: VERSION }, VERSION)
      return EXIT.ok
    }
    if (request.what === 'help') {
      out = createOutput(io, request.flags)
      printHelp(request.commands, out)
      return EXIT.ok
    }
    if (request.what === 'nothing') {
      io.stderr.write(`${overview(commands, columnsOf(io.stderr))}\n`)
      return EXIT.usage
    }
    return await runCommand(request.command, request.argv, io, (options) => {
      out = createOutput(io, options)
      return out
    })
  } catch (error) {
    return failed(error, out, io)
  }
}

async function runCommand(
  command: Command,
  argv: readonly string[],
  io: Io,
  createOut: (options: OutputOptions) => Output,
): Promise<number> {
  try {
    const parsed = parse(argv, command)
    const out = createOut({ ...parsed.flags })
    if (parsed.flags.help) {
      printHelp([command], out)
      return EXIT.ok
    }
    checkWords(parsed.words, command)
    const values = readValues(parsed, command) as Values<OptionTable & CommonOptions>
    return await command.run(values, parsed.words, { io, out })
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new UsageError(`${error.message}\nSee: tix-webhooks ${command.name} --help`, { cause: error.cause })
  }
}

/** Prints the help of all commands, of a group, or of one. */
function printHelp(about: readonly Command[], out: Output): void {
  const isOverview = about.length === commands.length
  if (out.json) {
    for (const command of about) out.print(described(command), '')
    return
  }
  const texts = isOverview
    ? [overview(commands, out.columns)]
    : about.map((command) => commandHelp(command, out.columns))
  out.print({}, texts.join('\n\n'), { exact: true })
}

function described({ name, summary, args = [], options, examples }: Command): object {
  const table: OptionTable = { ...options, ...COMMON_OPTIONS }
  return {
    name,
    summary,
    args: args.map((arg) => ({ name: arg.name, says: arg.says, optional: arg.optional ?? false })),
    options: Object.entries(table).map(([option, { says, value, fallback, kind, isOn }]) => ({
      name: isOn ? `--no-${option}` : `--${option}`,
      says,
      ...(value !== undefined && { value }),
      ...(fallback !== undefined && { default: fallback }),
      repeatable: kind === 'repeatable',
    })),
    examples: examples.map(({ line }) => line),
  }
}

/** Prints the message of a `Failure`; anything else is a bug of ours and is printed with its stack. */
function failed(error: unknown, out: Output, { signal, stderr }: Io): number {
  out.progress()
  // Not 0, even if only the reader of the pipe has gone: the result is not known.
  if (signal.aborted) return EXIT.interrupted
  if (error instanceof Failure) {
    out.fail(error.message)
    return error.exitCode
  }
  out.fail(`This is a bug in tix-webhooks: ${messageOf(error)}`)
  if (error instanceof Error && error.stack !== undefined) stderr.write(`${error.stack}\n`)
  return EXIT.failed
}
