import { describe, expect, test } from 'vitest'
import { didYouMean } from '../../../cli/arguments/did-you-mean.js'
import { nearestName } from '../../../lib/nearest-name.js'

const NAMES = ['sandbox', 'trigger', 'listen', 'check', 'resend', 'advance', 'clock', 'endpoints', 'reset']

describe('the nearest name', () => {
  test.each([
    ['sandbx', 'sandbox'],
    ['tirgger', 'trigger'],
    ['rest', 'reset'],
    ['clokc', 'clock'],
  ])('to %s is %s', (word, expected) => {
    expect(nearestName(word, NAMES)).toBe(expected)
  })

  test.each(['', 'frobnicate', 'sand'])('to %j is none', (word) => {
    expect(nearestName(word, NAMES)).toBeUndefined()
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
