import { createColors } from 'picocolors'
import { expect, test } from 'vitest'
import type { WrongDelivery } from '../../../cli/check/wrong-delivery.js'
import { wrongLines } from '../../../cli/check/wrong-lines.js'

const ONE: WrongDelivery = { number: 1, of: 1, header: 't=1,v1=ab', body: '{}', answer: '401' }

const linesOf = (wrong: readonly WrongDelivery[], isWhole = false): readonly string[] =>
  wrongLines(wrong, isWhole, createColors(false))

test.each<[string, Partial<WrongDelivery>, string[]]>([
  ['without a header', { header: null }, ['1 of 1, answered 401', '(none)', '{}']],
  ['of nothing', { header: '', body: '' }, ['1 of 1, answered 401', '(empty)', '(empty)']],
  [
    'in crumbs',
    { transport: 'tiny-chunks', answer: 'ECONNRESET' },
    ['1 of 1, in chunks of one byte, not answered (ECONNRESET)', 't=1,v1=ab', '{}'],
  ],
])('a delivery %s', (_, more, [title, header, body]) => {
  expect(linesOf([{ ...ONE, ...more }])).toEqual([
    `      delivery ${title}`,
    `        header  ${header}`,
    `        body    ${body}`,
  ])
})

test('those that are alike are shown once, and three at most unless all are asked for', () => {
  const wrong = Array.from({ length: 12 }, (_, index) => ({
    ...ONE,
    number: index + 1,
    of: 12,
    body: `${Math.floor(index / 2)} ${'x'.repeat(99)}`,
  }))
  const few = linesOf(wrong)
  expect(few.filter((line) => !line.startsWith('        '))).toEqual([
    '      deliveries 1, 2 of 12, answered 401',
    '      deliveries 3, 4 of 12, answered 401',
    '      deliveries 5, 6 of 12, answered 401',
    '      and 6 more: --verbose shows all of them, whole',
  ])
  expect(few.every((line) => line.length <= 80)).toBe(true)
  const whole = linesOf(wrong, true)
  expect(whole).toHaveLength(6 * 3)
  expect(whole.at(-1)).toBe(`        body    5 ${'x'.repeat(99)}`)
})
