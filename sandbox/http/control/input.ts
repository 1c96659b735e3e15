import * as z from 'zod'
import { Refusal } from '../../domain/refusal.js'
import { validateBody, validateQuery } from '../../domain/requests/validate.js'
import { AddressRefused } from '../../engine/network/address-rules.js'
import { durationMs } from '../../time/duration.js'
import { readJson } from '../body.js'
import type { RequestContext } from '../context.js'
import { readQuery } from '../query.js'

/** Reads the body of a control request; `{}` if there is none. @throws Refusal that names the error */
export async function readBody<Schema extends z.ZodObject>(
  c: RequestContext,
  schema: Schema,
): Promise<z.output<Schema>> {
  return validateBody(schema, (await readJson(c.req.raw, { required: false })) ?? {})
}

/** Reads the query of a control request. @throws Refusal that names what is wrong with it */
export function readParameters<Schema extends z.ZodObject>(
  c: RequestContext,
  schema: Schema,
): z.output<Schema> {
  return validateQuery(schema, readQuery(new URL(c.req.url).searchParams))
}

/** The refusal of an id that does not exist. */
export function missing(what: string, id: string): Refusal {
  return new Refusal({
    code: 'resource_missing',
    message: `There is no ${what} ${JSON.stringify(id.slice(0, 100))}.`,
  })
}

/** The refusal of a parameter that a schema cannot check. */
export function invalid(message: string, param?: string): Refusal {
  return new Refusal({ code: 'parameter_invalid', message, ...(param !== undefined && { param }) })
}

/** Turns a `TypeError` or a refused address of the engine into a bad request. */
export async function refusingMisuse<Result>(
  work: () => Result | Promise<Result>,
  param?: string,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof TypeError || error instanceof AddressRefused) throw invalid(error.message, param)
    throw error
  }
}

/** A span of time such as `72h`, as milliseconds; a number is one of seconds. */
export const span = z.unknown().transform((value, context): number => {
  if (typeof value === 'string' || typeof value === 'number') {
    try {
      return durationMs('', typeof value === 'number' ? value * 1000 : value)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
    }
  }
  context.addIssue({
    code: 'custom',
    message:
      'must be a span of time such as 90s, 5m, 72h or 3d, or a number of seconds, of at most 100 years',
  })
  return z.NEVER
})
