import { expect, test } from 'vitest'
import { widthOf } from '../../../cli/terminal/layout.js'
import { visible, visibleWithin } from '../../../cli/terminal/visible-bytes.js'

test.each([
  ['{"a":"b c"}', '{"a":"b c"}'],
  ['a\r\n\tb', 'a<0d><0a><09>b'],
  ['\ufeff{}', '<ef bb bf>{}'],
  [' {} ', '<20>{}<20>'],
  [' ', '<20>'],
  ['Zoe\u0308, Zoë', 'Zoe<cc 88>, Zoë'],
  ['18\u00a0€\u2028', '18<c2 a0>€<e2 80 a8>'],
  ['\u202eabc', '<e2 80 ae>abc'],
  ['👩\u200d👧', '👩<e2 80 8d>👧'],
  ['\u001b[31m\u007f', '<1b>[31m<7f>'],
  // Half of a character is sent as the mark of what is no text.
  ['\ud83d', '<ef bf bd>'],
  ['<0a> <0A> <b> <ef bb bf>', '<3c>0a> <0A> <b> <3c>ef bb bf>'],
])('no byte of %j is invisible', (text, shown) => {
  expect(visible(text)).toBe(shown)
})

test.each([
  ['a'.repeat(40), 40, 'a'.repeat(40)],
  [`b${'a'.repeat(39)}c`, 40, `b${'a'.repeat(18)}…${'a'.repeat(8)}c (41 bytes)`],
  [`${'€'.repeat(99)}\n`, 40, `${'€'.repeat(18)}…${'€'.repeat(5)}<0a> (298 bytes)`],
  // None is cut in half.
  [`${'\n'.repeat(99)}`, 40, '<0a><0a><0a><0a>…<0a><0a> (99 bytes)'],
  ['\n'.repeat(11), 40, '<0a><0a><0a><0a>…<0a><0a> (11 bytes)'],
  ['x '.repeat(99), 40, 'x x x x x x x x x …x x x<20> (198 bytes)'],
])('a text that is too long shows its beginning, its end and its bytes: %j in %i', (text, columns, shown) => {
  expect(visibleWithin(text, columns)).toBe(shown)
  expect(widthOf(shown)).toBeLessThanOrEqual(columns)
})
