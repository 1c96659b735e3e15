import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { folded, table, widthOf } from '../../../cli/terminal/layout.js'

const green = (text: string): string => `\u001b[32m${text}\u001b[39m`

describe('a table', () => {
  const columns = [
    { head: 'ID' },
    { head: 'KIND', drop: 1 },
    { head: 'URL', drop: 3 },
    { head: 'WHY', drop: 2 },
  ]
  const rows = [
    ['a', 'short', 'http://localhost', ''],
    ['longer', green('kind'), '', ''],
  ]

  test('has heads, aligned whatever the colours, and no empty columns', () => {
    expect(table(columns, rows, Number.POSITIVE_INFINITY)).toEqual([
      'ID      KIND   URL',
      'a       short  http://localhost',
      `longer  ${green('kind')}`,
    ])
  })

  test.each([
    [31, 'ID      KIND   URL'],
    [30, 'ID      KIND'],
    [12, 'ID'],
    [3, 'ID'],
  ])('drops columns in their order in a width of %i', (width, heads) => {
    expect(table(columns, rows, width)[0]).toBe(heads)
  })
})

describe('a text', () => {
  test.each([
    ['one two three four five', 'one two three four\nfive'],
    ['  indented text that is long', '  indented text that\n  is long'],
    ['<-- [500] POST one two three', '<-- [500] POST one\n    two three'],
    ['12:00:05 --> a b c d e f g', '12:00:05 --> a b c d\n          e f g'],
    ['name  says what it is and', 'name  says what it\n      is and'],
    ['{"a":"bcdefgh","i":"jklmno"}', '{"a":"bcdefgh",\n"i":"jklmno"}'],
    ['http://localhost:3000/hooks?a=1 x', 'http://localhost:3000/hooks?a=1\nx'],
    [`${green('one two')} three four five`, `${green('one two')} three four\nfive`],
    ['🎷🎷🎷🎷🎷🎷🎷🎷🎷 end', '🎷🎷🎷🎷🎷🎷🎷🎷🎷\nend'],
    ['To see it: tix-webhooks clock', 'To see it:\ntix-webhooks clock'],
  ])('of %j ends its lines between words', (text, expected) => {
    expect(folded(text, 20)).toBe(expected)
  })

  test('loses nothing but blanks, and has no line that could be shorter', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 1, maxLength: 12 })),
        fc.integer({ min: 20, max: 80 }),
        (words, width) => {
          const text = words.map((word) => word.replaceAll(/\s/g, '_')).join(' ')
          const lines = folded(text, width)
          expect(lines.replaceAll(/\s+/g, '')).toBe(text.replaceAll(/\s+/g, ''))
          for (const one of lines.split('\n')) {
            expect(widthOf(one) <= width || !one.trim().includes(' ')).toBe(true)
          }
        },
      ),
    )
  })
})
