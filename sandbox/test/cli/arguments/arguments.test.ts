import { describe, expect, test } from 'vitest'
import { checkWords, parse, readValues } from '../../../cli/arguments/arguments.js'
import { defineCommand } from '../../../cli/arguments/command.js'
import { didYouMean } from '../../../cli/arguments/did-you-mean.js'
import { readDuration, sayDuration } from '../../../cli/arguments/durations.js'
import { flag, option, repeatable } from '../../../cli/arguments/options.js'
import {
  listOf,
  oneOf,
  pairOf,
  readInstant,
  readJsonOrText,
  readObject,
  readPort,
  readShare,
  readText,
  readUrl,
  shareUpTo,
  wholeNumber,
} from '../../../cli/arguments/values.js'
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
    [['-.5h'], '-.5h is negative: no time or number may be.'],
    [['--no-port'], '--port takes a value, so there is no --no-port: leave it out.'],
    [['--no-freze'], 'There is no option --no-freze. Did you mean --no-freeze?'],
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

type Row = readonly [read: (text: string, name: string) => unknown, text: string, value: unknown]

describe('a value', () => {
  test.each<Row>([
    [readPort, '0', 0],
    [readPort, '65535', 65_535],
    [readUrl, 'http://localhost:3000/hooks?a=1&b=2', 'http://localhost:3000/hooks?a=1&b=2'],
    [readUrl, 'http://[::1]:80/', 'http://[::1]:80/'],
    [readDuration, '72h', 259_200_000],
    [readDuration, '1.5h', 5_400_000],
    [readDuration, '250ms', 250],
    [readDuration, '0', 0],
    [readInstant, '2026-12-01T19:00:00Z', '2026-12-01T19:00:00.000Z'],
    [readInstant, '2026-12-01T19:00+01:00', '2026-12-01T18:00:00.000Z'],
    [readInstant, '2028-02-29T00:00Z', '2028-02-29T00:00:00.000Z'],
    [readShare, '1', 1],
    [wholeNumber(1, 10), '10', 10],
    [oneOf('dot', 'body'), 'body', 'body'],
    [listOf(readPort), '1, 2,3', [1, 2, 3]],
    [pairOf(readText), 'a=b=c', ['a', 'b=c']],
    [readJsonOrText, '0', 0],
    [readJsonOrText, 'someone@example.com', 'someone@example.com'],
    [readJsonOrText, '"5"', '5'],
    [readJsonOrText, '', ''],
    [readObject, '{"a":1}', { a: 1 }],
  ])('%o reads %j', (read, text, value) => {
    expect(read(text, '--x')).toEqual(value)
  })

  const PORT = 'is not a port: write a number from 0 to 65535 (0 is any free port).'
  const UNLIKE_URL = 'is not an http or https URL. Write it like http://localhost:3000/hooks.'
  const SPAN = 'must be a span of time such as 90s, 5m, 72h or 3d, of at most 100 years; not'
  const INVISIBLE =
    'must have no line breaks, blanks or invisible characters in it: write them percent-encoded, or leave them out.'
  const TIME =
    'is not a valid time: write it with an offset, like 2026-12-01T19:00:00Z or 2026-12-01T20:00+01:00.'
  const OBJECT = `must be a JSON object, such as '{"order":{"id":"ord_1"}}'.`
  /** Rows with one message, about the text itself. */
  const alike = (read: Row[0], message: string, ...texts: string[]): Row[] =>
    texts.map((text) => [read, text, `${JSON.stringify(text)} ${message}`])
  const meant = (text: string, url: string): Row => [
    readUrl,
    text,
    `"${text}" is not an http or https URL. Did you mean ${url}?`,
  ]

  test.each<Row>([
    ...alike(readPort, PORT, '65536', '-1', 'http', ''),
    [pairOf(readPort), 'a=b', `a "b" ${PORT}`],
    ...alike(readUrl, UNLIKE_URL, 'ftp://example.com', ''),
    ...alike(readUrl, INVISIBLE, ' http://localhost', 'http://localhost/a\u202eb'),
    meant('localhost:3000/hooks', 'http://localhost:3000/hooks'),
    meant('example.com', 'http://example.com'),
    meant('/hooks', 'http://localhost:3000/hooks'),
    [readDuration, '72', '72 has no unit: write 72s, 72m, 72h or 72d.'],
    [readDuration, 'soon', `${SPAN} "soon".`],
    [readDuration, '99999999h', `${SPAN} "99999999h".`],
    [readDuration, '-1h', '-1h is negative: time does not go back.'],
    ...alike(readInstant, TIME, '2026-12-01T19:00', '2026-02-30', '1700000000'),
    [shareUpTo(0.5), '0.7', 'must be a number from 0 to 0.5, such as 0.1, not "0.7".'],
    [readShare, '10%', 'must be a number from 0 to 1, such as 0.1, not "10%".'],
    [wholeNumber(1, 10), '1.5', 'must be a whole number from 1 to 10, not "1.5".'],
    [oneOf('dot', 'concat'), 'dto', 'must be one of dot, concat, not "dto". Did you mean dot?'],
    ...alike(listOf(readText), 'has an empty element: write a,b,c.', 'a,,b'),
    ...alike(pairOf(readText), 'must be name=value.', 'a', '=a'),
    [readText, '', 'is empty.'],
    [readObject, '[1]', OBJECT],
    [readObject, 'null', OBJECT],
  ])('%o refuses %j', async (read, text, message) => {
    expect(await cliRefusalOf(() => read(text, '--x'))).toEqual({ exitCode: 2, message: `--x ${message}` })
  })

  test('that is no JSON is refused with what breaks it', async () => {
    const { message } = await cliRefusalOf(() => readObject("{'a':1}", '--data'))
    expect(message).toMatch(/^--data is not valid JSON: .+ Quote it for the shell: '\{"a":1\}'\.$/)
  })
})

describe('a duration', () => {
  test.each([
    [0, '0 ms'],
    [12.4, '12 ms'],
    [59_999.6, '1 min'],
    [90_000, '1 min 30 s'],
    [93_600_000, '1 d 2 h'],
    [259_199_000, '2 d 23 h'],
    [259_200_000, '3 d'],
  ])('of %d ms is said as %s', (duration, said) => {
    expect(sayDuration(duration)).toBe(said)
  })
})

test.each([
  ['dupe', ['duplicate', 'stale'], 'duplicate'],
  ['event.craeted', ['order.created', 'event.published', 'event.cancelled', 'event.*', '*'], 'order.created'],
  ['--start', ['--state', '--start-at', '--no-start-now'], '--start-at'],
  ['order.published', ['order.created', 'event.published', 'event.*'], 'event.published'],
])('to %s of %j it is whether %s was meant', (word, names, name) => {
  expect(didYouMean(word, names)).toBe(` Did you mean ${name}?`)
})

test.each([
  ['tri', ['trigger', 'trickle']],
  ['--du', ['--duplicate']],
  ['order.refunded', ['order.created', 'event.published']],
])('to %s of %j it is none', (word, names) => {
  expect(didYouMean(word, names)).toBe('')
})
