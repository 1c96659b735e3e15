import { describe, expect, test } from 'vitest'
import { readDuration, sayDuration } from '../../../cli/arguments/durations.js'
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
import { cliRefusalOf } from '../../support/cli.js'

type Row = readonly [read: (text: string, name: string) => unknown, text: string, value: unknown]

describe('a value', () => {
  test.each<Row>([
    [readPort, '0', 0],
    [readPort, '65535', 65_535],
    [readUrl, 'http://localhost:3000/hooks?a=1&b=2', 'http://localhost:3000/hooks?a=1&b=2'],
    [readUrl, 'https://example.com', 'https://example.com'],
    [readUrl, 'http://[::1]:80/', 'http://[::1]:80/'],
    [readDuration, '72h', 259_200_000],
    [readDuration, '1.5h', 5_400_000],
    [readDuration, '250ms', 250],
    [readDuration, '3d', 259_200_000],
    [readDuration, '0', 0],
    [readInstant, '2026-12-01T19:00:00Z', '2026-12-01T19:00:00.000Z'],
    [readInstant, '2026-12-01T19:00+01:00', '2026-12-01T18:00:00.000Z'],
    [readInstant, '2026-12-01', '2026-12-01T00:00:00.000Z'],
    [readInstant, '2028-02-29T00:00Z', '2028-02-29T00:00:00.000Z'],
    [readShare, '0.25', 0.25],
    [readShare, '1', 1],
    [wholeNumber(1, 10), '10', 10],
    [oneOf('dot', 'body'), 'body', 'body'],
    [listOf(readPort), '1, 2,3', [1, 2, 3]],
    [pairOf(readText), 'a=b=c', ['a', 'b=c']],
    [readJsonOrText, '0', 0],
    [readJsonOrText, 'someone@example.com', 'someone@example.com'],
    [readJsonOrText, '"5"', '5'],
    [readJsonOrText, '[1]', [1]],
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
    ...alike(
      readUrl,
      INVISIBLE,
      'http://localhost:3000/\nhooks',
      ' http://localhost',
      'http://localhost/a\u202eb',
    ),
    meant('localhost:3000/hooks', 'http://localhost:3000/hooks'),
    meant('example.com', 'http://example.com'),
    meant('/hooks', 'http://localhost:3000/hooks'),
    [readDuration, '72', '72 has no unit: write 72s, 72m, 72h or 72d.'],
    [readDuration, 'soon', `${SPAN} "soon".`],
    [readDuration, '99999999h', `${SPAN} "99999999h".`],
    [readDuration, '-1h', '-1h is negative: time does not go back.'],
    ...alike(
      readInstant,
      TIME,
      '2026-12-01T19:00',
      '2026-02-30T00:00Z',
      '2026-02-30',
      'tomorrow',
      '1700000000',
    ),
    [shareUpTo(0.5), '0.7', 'must be a number from 0 to 0.5, such as 0.1, not "0.7".'],
    [readShare, '1.1', 'must be a number from 0 to 1, such as 0.1, not "1.1".'],
    [readShare, '10%', 'must be a number from 0 to 1, such as 0.1, not "10%".'],
    [wholeNumber(1, 10), '11', 'must be a whole number from 1 to 10, not "11".'],
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
    [999.4, '999 ms'],
    [5000, '5 s'],
    [59_999.6, '1 min'],
    [90_000, '1 min 30 s'],
    [3_600_000, '1 h'],
    [93_600_000, '1 d 2 h'],
    [259_199_000, '2 d 23 h'],
    [259_200_000, '3 d'],
    [86_400_000 + 5000, '1 d'],
  ])('of %d ms is said as %s', (duration, said) => {
    expect(sayDuration(duration)).toBe(said)
  })
})
