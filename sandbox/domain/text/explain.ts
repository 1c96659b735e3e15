import type * as z from 'zod'
import { nearestName } from '../../lib/nearest-name.js'
import type { Problem, RefusalCode } from '../refusal.js'

export type Issue = z.core.$ZodIssue

const MAX_QUOTED = 60

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a whole number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  tuple: 'a list',
}

/** A field as callers write it: `tickets[0].price_cents`. */
function paramOf(path: readonly PropertyKey[]): string {
  return path
    .map((step, index) =>
      typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${shorten(String(step))}`,
    )
    .join('')
}

/** A value in a message: short, whatever was sent. */
export function quote(value: unknown): string {
  if (typeof value === 'string') return shorten(JSON.stringify(value))
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  return String(value)
}

/**
 * Turns an issue of a schema into a refusal that says what is wrong and what to do.
 *
 * @param isOptional whether the field can be left out
 */
export function problemOf(issue: Issue, isOptional: boolean): Problem {
  const param = paramOf(issue.path)
  const { code, says } = findingOf(issue)
  const advice = issue.input === null && isOptional ? ': omit it if there is none' : ''
  return { code, message: `${param} ${says}${advice}.`, param }
}

/** Describes an unknown parameter, with the likely name if it is a typo. */
export function unknownParameter(
  path: readonly PropertyKey[],
  name: string,
  names: readonly string[],
  advice?: string,
): { readonly problem: Problem; readonly isTypo: boolean } {
  const param = paramOf([...path, name])
  const problem = { code: 'parameter_unknown', param } as const
  if (advice !== undefined) {
    return { problem: { ...problem, message: `${param} cannot be given: ${advice}.` }, isTypo: false }
  }
  const nearest = nearestName(name, names)
  const hint = names.length === 0 ? 'there are none here' : `there are ${names.join(', ')}`
  const says = nearest === undefined ? `${hint}.` : `did you mean ${nearest}?`
  return {
    problem: { ...problem, message: `There is no parameter ${param}: ${says}` },
    isTypo: nearest !== undefined,
  }
}

function findingOf(issue: Issue): { code: RefusalCode; says: string } {
  if (issue.code === 'custom') {
    const { input, params } = issue
    const was = typeof input === 'string' ? `. It was ${quote(input)}` : ''
    return {
      code: (params?.code as RefusalCode | undefined) ?? 'parameter_invalid',
      says: issue.message + was,
    }
  }
  const wanted = wantedOf(issue)
  if (issue.input === undefined)
    return { code: 'parameter_missing', says: `is missing: it must be ${wanted}` }
  return { code: 'parameter_invalid', says: `must be ${wanted}, not ${sizeOf(issue)}` }
}

function wantedOf(issue: Issue): string {
  if (issue.code === 'invalid_type') return TYPES[issue.expected] ?? issue.expected
  if (issue.code === 'invalid_value') return `one of ${issue.values.map(String).join(', ')}`
  if (issue.code === 'too_small') return boundOf('at least', Number(issue.minimum), issue.origin)
  if (issue.code === 'too_big') return boundOf('at most', Number(issue.maximum), issue.origin)
  return 'valid'
}

function boundOf(which: string, bound: number, origin: string): string {
  if (origin === 'string') return `${which} ${bound} ${bound === 1 ? 'character' : 'characters'} long`
  if (origin === 'array') return `a list of ${which} ${bound}`
  return `${which} ${bound}`
}

/** The size that was given, if the size is wrong. */
function sizeOf({ code, input }: Issue): string {
  if (code === 'too_small' || code === 'too_big') {
    if (typeof input === 'string') return String([...input].length)
    if (Array.isArray(input)) return String(input.length)
  }
  return typeof input === 'string' ? `the string ${quote(input)}` : quote(input)
}

function shorten(text: string): string {
  return text.length <= MAX_QUOTED ? text : `${text.slice(0, MAX_QUOTED - 1)}…`
}
