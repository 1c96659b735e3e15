import { parseArgs } from 'node:util'
import { codeOf, messageOf, UsageError } from '../failure.js'
import { type Argument, COMMON_OPTIONS, type Command } from './command.js'
import { didYouMean } from './did-you-mean.js'
import type { Given, OptionTable } from './options.js'

/** The command line taken apart, before any value is read. */
export interface Parsed {
  /** Only the flags that were given. */
  readonly flags: Readonly<Record<string, boolean>>
  readonly texts: Readonly<Record<string, readonly string[]>>
  readonly words: readonly string[]
}

/**
 * Parses the command line by the command's table of options.
 *
 * @throws UsageError that names the option and what it wants
 */
export function parse(argv: readonly string[], command: Command): Parsed {
  const table = tableOf(command)
  const { tokens, positionals } = parsed(argv, table)
  const flags: Record<string, boolean> = {}
  const texts: Record<string, string[]> = {}
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const { name, rawName, value } = token
    if (value === undefined) {
      flags[name] = !rawName.startsWith('--no-')
      continue
    }
    const given = texts[name] ?? []
    if (given.length > 0 && table[name]?.kind === 'single') {
      throw new UsageError(`--${name} is given twice: it takes one ${table[name].value}.`)
    }
    texts[name] = [...given, value]
  }
  return { flags, texts, words: positionals }
}

/** The values of all options of the command. @throws UsageError that says what is wrong with one */
export function readValues(parsed: Parsed, command: Command): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(tableOf(command)).map(([name, option]) => {
      const given: Given = { name, on: parsed.flags[name], texts: parsed.texts[name] ?? [] }
      return [name, option.read(given)]
    }),
  )
}

/** Refuses missing and unexpected words. */
export function checkWords(words: readonly string[], { name, args = [] }: Command): void {
  const required = args.filter(({ optional }) => optional === undefined)
  const missing = required[words.length]
  if (missing !== undefined) {
    throw new UsageError(`${missing.name} is missing: ${missing.says}.`)
  }
  const takesAll = args.at(-1)?.rest === true
  const extra = words[args.length]
  if (extra === undefined || takesAll) return
  throw new UsageError(
    args.length === 0
      ? `${name} takes options only, not ${JSON.stringify(extra)}.`
      : `${name} takes only ${listed(args)}, not ${JSON.stringify(extra)} too. Quote a value that contains spaces.`,
  )
}

const listed = (args: readonly Argument[]): string => args.map(({ name }) => name).join(' ')

const tableOf = ({ options }: Command): OptionTable => ({ ...options, ...COMMON_OPTIONS })

function parsed(argv: readonly string[], table: OptionTable) {
  try {
    return parseArgs({
      args: [...argv],
      strict: true,
      tokens: true,
      allowPositionals: true,
      allowNegative: true,
      options: Object.fromEntries(
        Object.entries(table).map(([name, { kind, short }]) => [
          name,
          kind === 'flag'
            ? { type: 'boolean' as const, ...(short !== undefined && { short }) }
            : { type: 'string' as const, multiple: true },
        ]),
      ),
    })
  } catch (error) {
    throw explained(error, argv, table)
  }
}

/** Explains an error of `parseArgs` to a user: its own messages are for programmers. */
function explained(error: unknown, argv: readonly string[], table: OptionTable): unknown {
  const given = /'(-[^'\s]*)/.exec(messageOf(error))?.[1] ?? ''
  const name = given.replace(/^--?/, '')
  if (codeOf(error) === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    // A negative time or number: Node reads it as a cluster of short options.
    const negative = argv.find((word) => word.startsWith(given) && isNegative(word))
    if (negative !== undefined) {
      return new UsageError(`${negative} is negative: no time or number may be.`)
    }
    const names = Object.keys(table).flatMap((known) =>
      table[known]?.kind === 'flag' ? [`--${known}`, `--no-${known}`] : [`--${known}`],
    )
    const plain = name.replace(/^no-/, '')
    if (given.startsWith('--no-') && Object.hasOwn(table, plain)) {
      return new UsageError(`--${plain} takes a value, so there is no ${given}: leave it out.`)
    }
    return new UsageError(`There is no option ${given}.${didYouMean(given, names)}`)
  }
  if (codeOf(error) !== 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') return error
  const option = table[name]
  if (option === undefined || option.kind === 'flag') {
    return new UsageError(`${given} takes no value.`)
  }
  return new UsageError(
    `${given} needs a value: ${given} ${option.value}. If the value begins with a dash, write ${given}=-….`,
  )
}

const isNegative = (word: string): boolean => /^-\.?\d/.test(word)
