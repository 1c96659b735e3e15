import { describe, expect, test } from 'vitest'
import { ERROR_FORMS } from '../../http/error-form.js'
import { API_ERROR_CODES, statusOf, typeOf } from '../../http/errors.js'

const REPORT = {
  code: 'parameter_missing',
  message: 'title is missing.',
  param: 'title',
  problems: [
    { code: 'parameter_missing', message: 'title is missing.', param: 'title' },
    { code: 'parameter_unknown', message: 'There is no parameter tittle.', param: 'tittle' },
  ],
} as const

test('[N15] [N26] as stripe, an error is in an envelope', () => {
  expect(ERROR_FORMS.stripe.write(REPORT)).toEqual({
    error: {
      type: 'invalid_request_error',
      code: 'parameter_missing',
      message: 'title is missing.',
      param: 'title',
      errors: REPORT.problems,
    },
  })
  expect(ERROR_FORMS.stripe.write({ code: 'event_past', message: 'It is over.' })).toEqual({
    error: { type: 'state_error', code: 'event_past', message: 'It is over.' },
  })
})

test('[N15] [N26] as problem, it is that of RFC 9457', () => {
  expect(ERROR_FORMS.problem.write(REPORT)).toEqual({
    type: 'about:blank',
    title: 'Bad Request',
    status: 400,
    detail: 'title is missing.',
    code: 'parameter_missing',
    param: 'title',
    errors: [
      { code: 'parameter_missing', detail: 'title is missing.', param: 'title' },
      { code: 'parameter_unknown', detail: 'There is no parameter tittle.', param: 'tittle' },
    ],
  })
  expect(ERROR_FORMS.problem.write({ code: 'event_past', message: 'It is over.' })).toEqual({
    type: 'about:blank',
    title: 'Conflict',
    status: 409,
    detail: 'It is over.',
    code: 'event_past',
  })
})

test('[N16] [N17] what names nothing is a missing page in the path, and a bad parameter elsewhere', () => {
  expect(statusOf('resource_missing')).toBe(404)
  expect(statusOf('resource_missing', 'venue_id')).toBe(400)
  expect(statusOf('parameter_invalid', 'limit')).toBe(400)
})

test('[N19] [N22] the type follows from the status', () => {
  const types = Object.fromEntries(API_ERROR_CODES.map((code) => [statusOf(code), typeOf(statusOf(code))]))
  expect(types).toEqual({
    400: 'invalid_request_error',
    401: 'authentication_error',
    403: 'permission_error',
    404: 'invalid_request_error',
    405: 'invalid_request_error',
    409: 'state_error',
    413: 'invalid_request_error',
    415: 'invalid_request_error',
    429: 'rate_limit_error',
    500: 'api_error',
  })
})

describe.each(Object.entries(ERROR_FORMS))('the form %s', (_, form) => {
  test.each(API_ERROR_CODES)('is what its schema says, for %s', (code) => {
    for (const param of [undefined, 'tickets[0].name']) {
      const problems =
        param === undefined ? undefined : [{ code: 'parameter_invalid', message: 'no', param } as const]
      const written = form.write({ code, message: 'Words.', param, problems })
      expect(form.schema.parse(JSON.parse(JSON.stringify(written)))).toEqual(written)
      expect(
        form.codePath.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], written),
      ).toBe(code)
    }
  })
})
