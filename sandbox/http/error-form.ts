import { STATUS_CODES } from 'node:http'
import * as z from 'zod'
import { NOT_SHOWN } from '../domain/resources.js'
import type { Assumptions } from '../service/assumptions.js'
import { API_ERROR_CODES, ERROR_TYPES, type ErrorReport, statusOf, typeOf } from './errors.js'

/** The form of error responses. */
export interface ErrorForm {
  readonly contentType: string
  readonly schema: z.ZodObject
  /** The path of the error's code in the body: property names, outermost first. */
  readonly codePath: readonly string[]
  /** The body of an answer. */
  write(report: ErrorReport): object
}

const code = z.enum(API_ERROR_CODES)
const param = z.string().meta({ description: 'The field or query parameter that is at fault' })

const stripe: ErrorForm = {
  contentType: 'application/json',
  schema: z
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
    .meta({ id: 'Error', title: 'Error', ...NOT_SHOWN }),
  codePath: ['error', 'code'],
  write: ({ code, message, param, problems, status = statusOf(code, param) }) => ({
    error: {
      type: typeOf(status),
      code,
      message,
      ...(param !== undefined && { param }),
      ...(problems && { errors: problems }),
    },
  }),
}

const problem: ErrorForm = {
  contentType: 'application/problem+json',
  schema: z
    .strictObject({
      type: z.literal('about:blank'),
      title: z.string(),
      status: z.int(),
      detail: z.string(),
      code,
      param: param.optional(),
      errors: z
        .array(z.strictObject({ code, detail: z.string(), param: param.optional() }))
        .min(1)
        .optional()
        .meta({ description: 'All that is wrong, where fields are' }),
    })
    .meta({ id: 'Error', title: 'Problem (RFC 9457)', ...NOT_SHOWN }),
  codePath: ['code'],
  write: ({ code, message, param, problems, status = statusOf(code, param) }) => {
    return {
      // The only type that is known to all; its title is then that of the status.
      type: 'about:blank',
      title: STATUS_CODES[status] ?? 'Server Error',
      status,
      detail: message,
      code,
      ...(param !== undefined && { param }),
      ...(problems && { errors: problems.map(({ message: detail, ...rest }) => ({ ...rest, detail })) }),
    }
  },
}

/** The form of an error, by the assumption of that name. */
export const ERROR_FORMS: Readonly<Record<Assumptions['errors'], ErrorForm>> = { stripe, problem }
