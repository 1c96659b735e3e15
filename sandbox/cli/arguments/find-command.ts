import { UsageError } from '../failure.js'
import type { OutputOptions } from '../terminal/output.js'
import { COMMON_OPTIONS, type Command } from './command.js'
import { didYouMean } from './did-you-mean.js'

/** The request that a command line makes. */
export type Request =
  | { readonly what: 'run'; readonly command: Command; readonly argv: readonly string[] }
  | { readonly what: 'help'; readonly commands: readonly Command[]; readonly flags: OutputOptions }
  | { readonly what: 'version'; readonly flags: OutputOptions }
  | { readonly what: 'nothing' }

/**
 * Finds the command. Common flags may come before it.
 *
 * @throws UsageError if there is no such command
 */
export function find(argv: readonly string[], commands: readonly Command[]): Request {
  const start = argv.findIndex((word) => !word.startsWith('-'))
  const before = start === -1 ? argv : argv.slice(0, start)
  const words = start === -1 ? [] : argv.slice(start)
  const flags = leadingFlags(before)
  if (flags.version) return { what: 'version', flags }
  if (words[0] === 'help') {
    const asked = words.slice(1).filter((word) => !word.startsWith('-'))
    const more = leadingFlags(words.slice(1).filter((word) => word.startsWith('-')))
    return { what: 'help', commands: aboutOf(asked, commands), flags: { ...flags, ...more } }
  }
  if (words.length === 0) return flags.help ? { what: 'help', commands, flags } : { what: 'nothing' }
  const name = nameIn(words, commands)
  const command = commands.find((known) => known.name === withoutList(name))
  if (command !== undefined) {
    return { what: 'run', command, argv: [...before, ...words.slice(name.split(' ').length)] }
  }
  // A group that is no command by itself.
  const group = aboutOf([name], commands)
  const asksHelp = flags.help === true || words.includes('--help') || words.includes('-h')
  if (asksHelp) return { what: 'help', commands: group, flags }
  throw new UsageError(`${name} needs a subcommand: ${namesOf(group).join(', ')}.`)
}

const LIST = 'list'

/** Commands that list: `list` may be typed after them. */
const LISTED: readonly string[] = ['deliveries', 'endpoints', 'faults', 'orders']

const withoutList = (name: string): string => name.replace(/ list$/, '')

interface LeadingFlags extends OutputOptions {
  readonly help?: boolean
  readonly version?: boolean
}

function leadingFlags(words: readonly string[]): LeadingFlags {
  const flags: Record<string, boolean> = {}
  for (const word of words) {
    const name = SHORT[word] ?? word.replace(/^--(no-)?/, '')
    if (!(name in COMMON_OPTIONS) && name !== 'version') {
      throw new UsageError(
        `Write ${word} after the command: only --json, --quiet, --no-color, --help and --version may come before it.`,
      )
    }
    flags[name] = !word.startsWith('--no-')
  }
  return flags
}

const SHORT: Readonly<Record<string, string>> = {
  '-h': 'help',
  '-v': 'version',
  '-V': 'version',
  '-q': 'quiet',
}

/** The longest name of a command, or of a group, that the words begin with. */
function nameIn(words: readonly string[], commands: readonly Command[]): string {
  const [first = '', second = ''] = words
  const names = namesOf(commands)
  if (names.includes(`${first} ${second}`)) return `${first} ${second}`
  const actions = names
    .filter((name) => name.startsWith(`${first} `))
    .map((name) => name.slice(first.length + 1))
  const isAction = second !== '' && !second.startsWith('-')
  // Other tools have such a subcommand.
  if (second === LIST && LISTED.includes(first)) return `${first} ${LIST}`
  if (actions.length > 0 && isAction && !takesWords(first, commands)) {
    throw new UsageError(
      `There is no command ${first} ${second}, only ${actions.map((action) => `${first} ${action}`).join(', ')}.${didYouMean(second, actions)}`,
    )
  }
  const late = words.slice(1).find((word) => actions.includes(word))
  if (late !== undefined && !isAction) {
    throw new UsageError(`Write the options after the command: ${first} ${late} ….`)
  }
  if (names.includes(first) || actions.length > 0) return first
  throw new UsageError(
    `There is no command ${JSON.stringify(first)}.${didYouMean(first, firstWords(commands))}\nSee: tix-webhooks --help`,
  )
}

const takesWords = (name: string, commands: readonly Command[]): boolean =>
  (commands.find((known) => known.name === name)?.args?.length ?? 0) > 0

/** The commands that `help` shows: all, one, or those of a group. */
function aboutOf(words: readonly string[], commands: readonly Command[]): readonly Command[] {
  if (words.length === 0) return commands
  const name = words.join(' ')
  const listed = commands.filter((command) => name.endsWith(` ${LIST}`) && command.name === withoutList(name))
  if (listed.length > 0) return listed
  const about = commands.filter((command) => command.name === name || command.name.startsWith(`${name} `))
  if (about.length > 0) return about
  throw new UsageError(
    `There is no command ${JSON.stringify(name)}.${didYouMean(name, [...namesOf(commands), ...firstWords(commands)])}\nSee: tix-webhooks --help`,
  )
}

const namesOf = (commands: readonly Command[]): string[] => commands.map(({ name }) => name)

const firstWords = (commands: readonly Command[]): string[] => [
  ...new Set(['help', ...namesOf(commands).map((name) => name.split(' ')[0] ?? name)]),
]
