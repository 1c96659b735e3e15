import * as z from 'zod'
import { NOT_SHOWN } from '../domain/resources.js'
import { API_ERROR_CODES, ERROR_TYPES, type ErrorReport, statusOf, typeOf } from './errors.js'

const code = z.enum(API_ERROR_CODES)
const param = z.string().meta({ description: 'The field or query parameter that is at fault' })

/** The body of an error response. */
export const errorObject = z
  .strictObject({
    error: z.strictObject({
      type: z.enum(ERROR_TYPES),
      code,
      message: z.string(),
      param: param.optional(),
      errors: z
        .array(z.strictObject({ code, message: z.string(), param: param.optional() }))
        .min(1)
        .optional()
        .meta({ description: 'All that is wrong, where fields are' }),
    }),
  })
  .meta({ id: 'Error', title: 'Error', ...NOT_SHOWN })

export function presentError({
  code,
  message,
  param,
  problems,
  status = statusOf(code, param),
}: ErrorReport): object {
  return {
    error: {
      type: typeOf(status),
      code,
      message,
      ...(param !== undefined && { param }),
      ...(problems && { errors: problems }),
    },
  }
}
