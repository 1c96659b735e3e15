import { expect, test } from 'vitest'
import { ASSUMPTIONS, assume, DEFAULT_ASSUMPTIONS } from '../../service/assumptions.js'

test('each assumption says what it is about, and its first choice is the default', () => {
  for (const [name, { says, choices }] of Object.entries(ASSUMPTIONS)) {
    expect(says).toMatch(/^[A-Z].*\.$/)
    expect(DEFAULT_ASSUMPTIONS[name as keyof typeof ASSUMPTIONS]).toBe(Object.keys(choices)[0])
  }
  expect(assume()).toEqual(DEFAULT_ASSUMPTIONS)
})

test('each choice of each can be taken, and leaves the others as they are', () => {
  for (const [name, { choices }] of Object.entries(ASSUMPTIONS)) {
    for (const choice of Object.keys(choices)) {
      expect(assume({ [name]: choice })).toEqual({ ...DEFAULT_ASSUMPTIONS, [name]: choice })
    }
  }
})

test.each([
  [{ signatur: 'dot' }, /^There is no assumption "signatur": there are signature, network-error, created-at/],
  [{ toString: 'dot' }, /^There is no assumption "toString"/],
  [{ signature: 'comma' }, /^The assumption signature is one of dot, concat, body, not "comma"\.$/],
  [{ signature: 'constructor' }, /not "constructor"/],
  [{ signature: 200 }, /not 200\.$/],
])('%j is refused, with what there is', (chosen, message) => {
  expect(() => assume(chosen)).toThrow(message)
})
