import { COMMON_OPTIONS, type Command } from './command.js'
import type { Option, OptionTable } from './options.js'

const WIDTH = 100

/** What `tix-webhooks --help` says. */
export function overview(commands: readonly Command[]): string {
  return [
    'tix-webhooks: the ticketing service on your machine, and tools for its webhooks',
    '',
    'Usage: tix-webhooks COMMAND [options]',
    '',
    'Commands:',
    ...table(commands.map(({ name, summary }): Row => [name, summary])),
    '',
    'Options of every command:',
    ...optionRows(COMMON_OPTIONS),
    ...table([['--version', 'the version of this package']], widthOf(COMMON_OPTIONS)),
    '',
    'Which sandbox: --sandbox URL, else TIX_SANDBOX_URL, else the one started in this folder or one above, else port 4010.',
    'Exit codes: 0 done, 1 a check failed, 2 the command line makes no sense, 3 no sandbox is running.',
    '',
    'Start with:',
    '  tix-webhooks sandbox --to http://localhost:3000/hooks',
    '  tix-webhooks trigger order.created',
    '  tix-webhooks help trigger',
  ].join('\n')
}

/** What `--help` says of one command. */
export function commandHelp(command: Command): string {
  const { name, summary, details, args = [], file, options, examples } = command
  const sections = [
    [`${name}: ${summary}`],
    [`Usage: ${usage(command)}`],
    details === undefined ? [] : wrapped(details, WIDTH),
    args.length === 0 ? [] : ['Arguments:', ...table(args.map((arg): Row => [arg.name, arg.says]))],
    file === undefined ? [] : [`${file.says}:`, ...file.text.split('\n').map((line) => `  ${line}`)],
    ['Options:', ...optionRows({ ...options, ...COMMON_OPTIONS })],
    ['Examples:', ...examples.flatMap(({ says, line }) => [`  # ${says}`, `  ${line}`])],
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

const optionRows = (options: OptionTable): string[] =>
  table(Object.entries(options).map(([name, option]): Row => [leftOf(name, option), saysOf(option)]))

const widthOf = (options: OptionTable): number =>
  Math.max(...Object.entries(options).map(([name, option]) => leftOf(name, option).length))

function leftOf(name: string, { value, short, kind }: Option<unknown>): string {
  const long = value === undefined ? `--${name}` : `--${name} ${value}`
  return `${short === undefined ? '' : `-${short}, `}${long}${kind === 'many' ? ' …' : ''}`
}

function saysOf({ says, fallback, kind }: Option<unknown>): string {
  const notes = [
    ...(kind === 'many' ? ['may be given again'] : []),
    ...(fallback === undefined ? [] : [`default ${fallback}`]),
  ]
  return notes.length === 0 ? says : `${says} (${notes.join(', ')})`
}

/** Two columns; what is too long for the right one goes on below itself. */
function table(rows: readonly Row[], least = 0): string[] {
  const width = Math.min(30, Math.max(least, ...rows.map(([left]) => left.length)))
  return rows.flatMap(([left, right]) => {
    const [first = '', ...more] = wrapped(right, WIDTH - width - 4)
    const indent = ' '.repeat(width + 4)
    const lines = more.map((line) => `${indent}${line}`)
    return left.length > width
      ? [`  ${left}`, `${indent}${first}`, ...lines]
      : [`  ${left.padEnd(width)}  ${first}`, ...lines]
  })
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}
