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
import { cliRefusalOf } from '../../support/cli-refusal.js'

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

  test.each<Row>([
    [readPort, '65536', '--x "65536" is not a port: write a number from 0 to 65535 (0 is any free port).'],
    [readPort, '-1', '--x "-1" is not a port: write a number from 0 to 65535 (0 is any free port).'],
    [readPort, 'http', '--x "http" is not a port: write a number from 0 to 65535 (0 is any free port).'],
    [readPort, '', '--x "" is not a port: write a number from 0 to 65535 (0 is any free port).'],
    [
      readUrl,
      'localhost:3000/hooks',
      '--x "localhost:3000/hooks" is not an http or https URL. Did you mean http://localhost:3000/hooks?',
    ],
    [
      readUrl,
      'example.com',
      '--x "example.com" is not an http or https URL. Did you mean http://example.com?',
    ],
    [
      readUrl,
      'ftp://example.com',
      '--x "ftp://example.com" is not an http or https URL. Write it like http://localhost:3000/hooks.',
    ],
    ...['http://localhost:3000/\nhooks', ' http://localhost', 'http://localhost/a\u202eb'].map(
      (text): Row => [
        readUrl,
        text,
        `--x ${JSON.stringify(text)} must have no line breaks, blanks or invisible characters in it: write them percent-encoded, or leave them out.`,
      ],
    ),
    [shareUpTo(0.5), '0.7', '--x must be a number from 0 to 0.5, such as 0.1, not "0.7".'],
    [
      readUrl,
      '/hooks',
      '--x "/hooks" is not an http or https URL. Did you mean http://localhost:3000/hooks?',
    ],
    [readUrl, '', '--x "" is not an http or https URL. Write it like http://localhost:3000/hooks.'],
    [readDuration, '72', '--x 72 has no unit: write 72s, 72m, 72h or 72d.'],
    [
      readDuration,
      'soon',
      '--x must be a span of time such as 90s, 5m, 72h or 3d, of at most 100 years; not "soon".',
    ],
    [readDuration, '-1h', '--x -1h is negative: time does not go back.'],
    [
      readDuration,
      '99999999h',
      '--x must be a span of time such as 90s, 5m, 72h or 3d, of at most 100 years; not "99999999h".',
    ],
    ...['2026-12-01T19:00', '2026-02-30T00:00Z', '2026-02-30', 'tomorrow', '1700000000'].map(
      (text): Row => [
        readInstant,
        text,
        `--x ${JSON.stringify(text)} is not a valid time: write it with an offset, like 2026-12-01T19:00:00Z or 2026-12-01T20:00+01:00.`,
      ],
    ),
    [readShare, '1.1', '--x must be a number from 0 to 1, such as 0.1, not "1.1".'],
    [readShare, '10%', '--x must be a number from 0 to 1, such as 0.1, not "10%".'],
    [wholeNumber(1, 10), '11', '--x must be a whole number from 1 to 10, not "11".'],
    [wholeNumber(1, 10), '1.5', '--x must be a whole number from 1 to 10, not "1.5".'],
    [oneOf('dot', 'concat'), 'dto', '--x must be one of dot, concat, not "dto". Did you mean dot?'],
    [listOf(readText), 'a,,b', '--x "a,,b" has an empty element: write a,b,c.'],
    [pairOf(readText), 'a', '--x "a" must be name=value.'],
    [pairOf(readText), '=a', '--x "=a" must be name=value.'],
    [
      pairOf(readPort),
      'a=b',
      '--x a "b" is not a port: write a number from 0 to 65535 (0 is any free port).',
    ],
    [readText, '', '--x is empty.'],
    [readObject, '[1]', `--x must be a JSON object, such as '{"order":{"id":"ord_1"}}'.`],
    [readObject, 'null', `--x must be a JSON object, such as '{"order":{"id":"ord_1"}}'.`],
  ])('%o refuses %j', async (read, text, message) => {
    expect(await cliRefusalOf(() => read(text, '--x'))).toEqual({ exitCode: 2, message })
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
