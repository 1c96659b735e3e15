import { folded } from '../terminal/layout.js'
import { COMMON_OPTIONS, type Command } from './command.js'
import type { Option, OptionTable } from './options.js'

/** Longer lines are hard to read; and a pipe may lead to any terminal. */
const MAX_WIDTH = 100
const PIPE_WIDTH = 80

const widthFor = (columns: number): number =>
  Number.isFinite(columns) ? Math.min(columns, MAX_WIDTH) : PIPE_WIDTH

const MAX_LEFT = 30

/** The text of `tix-webhooks --help`. */
export function overview(commands: readonly Command[], columns: number): string {
  const width = widthFor(columns)
  return [
    'tix-webhooks: the ticketing service on your machine, and tools for its webhooks',
    '',
    'Usage: tix-webhooks COMMAND [options]',
    '',
    'Commands:',
    ...table(
      commands.map(({ name, summary }): Row => [name, summary]),
      width,
    ),
    '',
    'Options of every command:',
    ...optionRows(COMMON_OPTIONS, width),
    ...table([['--version', 'prints the version of this package']], width, widthOf(COMMON_OPTIONS)),
    '',
    folded(
      'Which sandbox: --sandbox URL, else TIX_SANDBOX_URL, else the one started in this folder or one above, else port 4010.',
      width,
    ),
    folded(
      'Which secret: --secret, else TIX_SIGNING_SECRET in the environment, else in .env.local, else in .env of this folder.',
      width,
    ),
    folded('Exit codes: 0 done, 1 a check failed, 2 invalid command line, 3 no sandbox is running.', width),
    '',
    'Start with:',
    '  tix-webhooks secret >> .env',
    '  tix-webhooks sandbox --to http://localhost:3000/hooks',
    '  tix-webhooks trigger order.created',
    '  tix-webhooks help trigger',
  ].join('\n')
}

/** The text of `--help` for one command. */
export function commandHelp(command: Command, columns: number): string {
  const width = widthFor(columns)
  const { name, summary, details, args = [], file, options, examples } = command
  const sections = [
    [folded(`${name}: ${summary}`, width)],
    [`Usage: ${usage(command)}`],
    details === undefined ? [] : [folded(details, width)],
    args.length === 0
      ? []
      : [
          'Arguments:',
          ...table(
            args.map((arg): Row => [arg.name, arg.says]),
            width,
          ),
        ],
    file === undefined ? [] : [`${file.says}:`, ...file.text.split('\n').map((line) => `  ${line}`)],
    ['Options:', ...optionRows({ ...options, ...COMMON_OPTIONS }, width)],
    [
      'Examples:',
      ...examples.flatMap(({ says, line }) => [folded(`  # ${says}`, width), ...shellLines(line, width)]),
    ],
  ]
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')
}

function usage({ name, args = [], options }: Command): string {
  const words = args.map((arg) => {
    const word = arg.rest ? `${arg.name}…` : arg.name
    return arg.optional ? `[${word}]` : word
  })
  const rest = Object.keys(options).length === 0 ? [] : ['[options]']
  return ['tix-webhooks', name, ...words, ...rest].join(' ')
}

type Row = readonly [left: string, right: string]

const optionRows = (options: OptionTable, width: number): string[] =>
  table(
    Object.entries(options).map(([name, option]): Row => [leftOf(name, option), saysOf(option)]),
    width,
  )

const widthOf = (options: OptionTable): number =>
  Math.max(...Object.entries(options).map(([name, option]) => leftOf(name, option).length))

function leftOf(name: string, { value, short, kind, isOn }: Option<unknown>): string {
  const flag = isOn ? `--no-${name}` : `--${name}`
  const long = value === undefined ? flag : `--${name} ${value}`
  return `${short === undefined ? '' : `-${short}, `}${long}${kind === 'repeatable' ? ' …' : ''}`
}

function saysOf({ says, fallback, kind }: Option<unknown>): string {
  const notes = [
    ...(kind === 'repeatable' ? ['may be given again'] : []),
    ...(fallback === undefined ? [] : [`default ${fallback}`]),
  ]
  return notes.length === 0 ? says : `${says} (${notes.join(', ')})`
}

/** Two columns; text that is too long for the right one is folded within it. */
function table(rows: readonly Row[], width: number, least = 0): string[] {
  const left = Math.min(MAX_LEFT, Math.max(least, ...rows.map(([text]) => text.length)))
  const indent = ' '.repeat(left + 4)
  return rows.flatMap(([text, right]) => {
    const [first = '', ...more] = folded(right, width - indent.length).split('\n')
    const lines = more.map((one) => `${indent}${one}`)
    return text.length > left
      ? [`  ${text}`, `${indent}${first}`, ...lines]
      : [`  ${text.padEnd(left)}  ${first}`, ...lines]
  })
}

/** A line for the shell, continued with backslashes. Quoted text is not broken. */
function shellLines(text: string, width: number): string[] {
  const lines: string[] = []
  let current = ' '
  for (const [word] of text.matchAll(/(?:'[^']*'|[^ '])+/g)) {
    if (current.trim() !== '' && current.length + word.length + 3 > width) {
      lines.push(`${current} \\`)
      current = '    '
    } else if (current !== '    ') {
      current += ' '
    }
    current += word
  }
  return [...lines, current]
}
