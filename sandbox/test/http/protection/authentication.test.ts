import { expect, test } from 'vitest'
import { HttpError } from '../../../http/errors.js'
import { createAuthenticator } from '../../../http/protection/authentication.js'

const KEY = 'sk_test_a1b2c3d4'

function apiRefusalOf(authorization: string | null, options = {}): HttpError {
  try {
    createAuthenticator(options).authenticate(authorization)
  } catch (error) {
    if (error instanceof HttpError) return error
    throw error
  }
  throw new Error('it was taken')
}

test.each([
  ['bearer sk_test_a1b2c3d4', 'test', 'c3d4'],
  ['BEARER sk_live_w6x7y8z9', 'live', 'y8z9'],
  ['bearer   sk_live_w6x7y8z9 ', 'live', 'y8z9'],
  ['bearer sk_live_~', 'live', '~'],
])('[S80] [S81] [S82] [N1] [N3] [N8] takes %j', (authorization, mode, keyEnd) => {
  expect(createAuthenticator({}).authenticate(authorization)).toEqual({ mode, keyEnd })
})

test.each([null, '', 'bearer', 'Bearer ', 'basic c2tfdGVzdF9h', KEY, `token ${KEY}`, `bearer:${KEY}`])(
  '[S48] [N2] finds no key in %j',
  (authorization) => {
    const fault = apiRefusalOf(authorization)
    expect(fault.code).toBe('api_key_missing')
    expect(fault.headers).toEqual({ 'www-authenticate': 'Bearer' })
    expect(fault.message).toContain('authorization: bearer sk_test_…')
  },
)

test.each(['sk_test_', 'sk_tset_a1', 'SK_TEST_a1', 'sk_test_a1 b2', 'sk_test_\u0000', `x${KEY}`])(
  '[N3] refuses the key %j',
  (key) => {
    const fault = apiRefusalOf(`bearer ${key}`)
    expect(fault.code).toBe('api_key_invalid')
    expect(fault.headers).toEqual({ 'www-authenticate': 'Bearer' })
  },
)

test('[N7] [N8] warns once of each live key, and shows only its end', () => {
  const warnings: string[] = []
  const { authenticate } = createAuthenticator({ onWarning: (warning) => warnings.push(warning) })
  for (const key of ['sk_live_first1111', 'sk_test_a1b2c3d4', 'sk_live_first1111', 'sk_live_other1111']) {
    authenticate(`bearer ${key}`)
  }
  expect(warnings).toEqual([
    expect.stringMatching(/ends in 1111.*is this key meant to be here/),
    expect.stringMatching(/ends in 1111/),
  ])
  expect(warnings.join()).not.toMatch(/first|other/)
})
