import { expect, test } from 'vitest'
import { errorObject, presentError } from '../../http/error-form.js'
import { API_ERROR_CODES, statusOf } from '../../http/errors.js'

const REPORT = {
  code: 'parameter_missing',
  message: 'title is missing.',
  param: 'title',
  problems: [
    { code: 'parameter_missing', message: 'title is missing.', param: 'title' },
    { code: 'parameter_unknown', message: 'There is no parameter tittle.', param: 'tittle' },
  ],
} as const

test('[N15] [N26] an error is in an envelope', () => {
  expect(presentError(REPORT)).toEqual({
    error: {
      type: 'invalid_request_error',
      code: 'parameter_missing',
      message: 'title is missing.',
      param: 'title',
      errors: REPORT.problems,
    },
  })
  expect(presentError({ code: 'event_past', message: 'It is over.' })).toEqual({
    error: { type: 'state_error', code: 'event_past', message: 'It is over.' },
  })
})

test('[N16] [N17] what names nothing is a missing page in the path, and a bad parameter elsewhere', () => {
  expect(statusOf('resource_missing')).toBe(404)
  expect(statusOf('resource_missing', 'venue_id')).toBe(400)
  expect(statusOf('parameter_invalid', 'limit')).toBe(400)
})

test.each(API_ERROR_CODES)('is as its schema has it, for %s', (code) => {
  for (const param of [undefined, 'tickets[0].name']) {
    const problems =
      param === undefined ? undefined : [{ code: 'parameter_invalid', message: 'no', param } as const]
    const written = presentError({ code, message: 'Words.', param, problems })
    expect(errorObject.parse(JSON.parse(JSON.stringify(written)))).toEqual(written)
    expect(written).toMatchObject({ error: { code } })
  }
})
