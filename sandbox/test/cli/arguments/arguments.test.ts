import { describe, expect, test } from 'vitest'
import { checkWords, parse, readValues } from '../../../cli/arguments/arguments.js'
import { defineCommand } from '../../../cli/arguments/command.js'
import { flag, option, repeatable } from '../../../cli/arguments/options.js'
import { readPort, readUrl } from '../../../cli/arguments/values.js'
import { EXIT } from '../../../cli/failure.js'
import { cliRefusalOf } from '../../support/cli.js'

const command = defineCommand({
  name: 'serve',
  summary: 'serves',
  args: [
    { name: 'KIND', says: 'a kind' },
    { name: 'FILE', says: 'a file', optional: true },
  ],
  options: {
    port: option('PORT', readPort, 'where', '4010'),
    host: option('HOST', (text) => text, 'at which address'),
    to: repeatable('URL', readUrl, 'where to'),
    freeze: flag('stands still'),
  },
  examples: [{ says: 'that', line: 'tix-webhooks serve x' }],
  run: async () => EXIT.ok,
})

const valuesOf = (...argv: string[]) => readValues(parse(argv, command), command)

describe('the values of a command line', () => {
  test('are the fallbacks if no option is given', () => {
    expect(valuesOf()).toEqual({
      port: 4010,
      host: undefined,
      to: [],
      freeze: false,
      json: false,
      quiet: false,
      color: false,
      help: false,
    })
  })

  test.each([
    [['--port', '80'], { port: 80 }],
    [['--port=80'], { port: 80 }],
    [['--to', 'http://a', '--to=http://b'], { to: ['http://a', 'http://b'] }],
    [['--freeze'], { freeze: true }],
    [['--freeze', '--no-freeze'], { freeze: false }],
    [['-q'], { quiet: true }],
    [['--host=-x'], { host: '-x' }],
  ])('are read from %j', (argv, expected) => {
    expect(valuesOf(...argv)).toMatchObject(expected)
  })
})

describe('an invalid command line', () => {
  test.each([
    [['--prot', '80'], 'There is no option --prot. Did you mean --port?'],
    [['--frobnicate'], 'There is no option --frobnicate.'],
    [['-x'], 'There is no option -x.'],
    ...['-1h', '-1', '-.5'].map((word): [string[], string] => [
      [word],
      `${word} is negative: no time or number may be.`,
    ]),
    [['--no-port'], '--port takes a value, so there is no --no-port: leave it out.'],
    [['--no-freze'], 'There is no option --no-freze. Did you mean --no-freeze?'],
    [['--port'], '--port needs a value: --port PORT. If the value begins with a dash, write --port=-….'],
    [
      ['--port', '--json'],
      '--port needs a value: --port PORT. If the value begins with a dash, write --port=-….',
    ],
    [['--port', '1', '--port', '2'], '--port is given twice: it takes one PORT.'],
    [['--json=yes'], '--json takes no value.'],
    [['--no-freeze=1'], '--freeze takes no value.'],
  ])('is refused: %j', async (argv, message) => {
    expect(await cliRefusalOf(() => valuesOf(...argv))).toEqual({ exitCode: 2, message })
  })

  test.each([
    [[], 'KIND is missing: a kind.'],
    [['a', 'b', 'c d'], 'serve takes only KIND FILE, not "c d" too. Quote a value that contains spaces.'],
  ])('has the wrong words: %j', async (words, message) => {
    expect(await cliRefusalOf(() => checkWords(words, command))).toEqual({ exitCode: 2, message })
  })
})
