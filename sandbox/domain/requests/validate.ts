import * as z from 'zod'
import { type Problem, Refusal } from '../refusal.js'
import { type Issue, problemOf, unknownParameter } from '../text/explain.js'

export interface ValidateOptions {
  /** Leaves out what is not known. Default false: it is refused. */
  readonly lenient?: boolean | undefined
  /** The advice for a parameter that exists, but not in this request. */
  readonly advice?: Readonly<Record<string, string>> | undefined
}

/** The most problems that an answer lists. */
const MAX_PROBLEMS = 20

/** A number in a query, written as digits. */
const NUMBERS = ['limit']
const INTEGER = /^-?(?:0|[1-9]\d{0,14})$/

/**
 * Returns the body, with its defaults, if it matches the schema.
 *
 * @throws Refusal with all that is wrong
 */
export function validateBody<Schema extends z.ZodObject>(
  schema: Schema,
  body: unknown,
  options: ValidateOptions = {},
): z.infer<Schema> {
  const { data, problems } = check(schema, body, options, 'The body must be a JSON object')
  return settled(data, problems)
}

/**
 * A query: each parameter is a string, or a list if it is repeated.
 *
 * @throws Refusal with all that is wrong
 */
export function validateQuery<Schema extends z.ZodObject>(
  schema: Schema,
  query: unknown,
  options: ValidateOptions = {},
): z.infer<Schema> {
  const repeated: Problem[] = []
  const entries = Object.entries(query ?? {}).flatMap(([name, value]): [string, unknown][] => {
    if (Array.isArray(value) && Object.hasOwn(schema.shape, name)) {
      repeated.push({
        code: 'parameter_invalid',
        message: `${name} is given ${value.length} times: give it once.`,
        param: name,
      })
      return []
    }
    const isNumber = NUMBERS.includes(name) && typeof value === 'string' && INTEGER.test(value)
    return [[name, isNumber ? Number(value) : value]]
  })
  const { data, problems } = check(
    schema,
    Object.fromEntries(entries),
    options,
    'The query must be parameters by their names',
  )
  return settled(data, [...repeated, ...problems])
}

function settled<Data>(data: Data | undefined, problems: readonly Problem[]): Data {
  const [first, ...more] = problems
  if (first !== undefined) throw new Refusal(first, ...more.slice(0, MAX_PROBLEMS - 1))
  if (data === undefined) throw new TypeError('There is neither a value nor a problem.')
  return data
}

function check<Schema extends z.ZodObject>(
  schema: Schema,
  value: unknown,
  { lenient = false, advice = {} }: ValidateOptions,
  wanted: string,
): { data?: z.infer<Schema>; problems: readonly Problem[] } {
  const result = schema.safeParse(value, { reportInput: true })
  if (result.success) return { data: result.data, problems: [] }
  const issues = result.error.issues
  if (lenient && issues.some(isAboutUnknown)) {
    return check(schema, withoutUnknown(value, issues), { lenient: false }, wanted)
  }
  const unknown = issues.filter(isAboutUnknown).flatMap(({ path, keys }) => {
    const names = namesAt(schema, path)
    const adviceOf = (key: string): string | undefined =>
      path.length === 0 && Object.hasOwn(advice, key) ? advice[key] : undefined
    return keys.slice(0, MAX_PROBLEMS).map((key) => unknownParameter(path, key, names, adviceOf(key)))
  })
  const known = issues
    .filter((issue) => !isAboutUnknown(issue))
    .slice(0, MAX_PROBLEMS)
    .map((issue) => problemIn(schema, issue, wanted))
  // A slip of the finger comes first: it is why another one is missing.
  const typos = unknown.filter(({ isTypo }) => isTypo).map(({ problem }) => problem)
  const others = unknown.filter(({ isTypo }) => !isTypo).map(({ problem }) => problem)
  return { problems: [...typos, ...known, ...others] }
}

function problemIn(schema: z.ZodObject, issue: Issue, wanted: string): Problem {
  if (issue.path.length === 0) return { code: 'parameter_invalid', message: `${wanted}.` }
  return problemOf(issue, isOptionalAt(schema, issue.path))
}

type UnknownKeys = Extract<Issue, { code: 'unrecognized_keys' }>

function isAboutUnknown(issue: Issue): issue is UnknownKeys {
  return issue.code === 'unrecognized_keys'
}

/** A copy without the members that are not known. */
function withoutUnknown(value: unknown, issues: readonly Issue[]): unknown {
  const copy: unknown = structuredClone(value)
  for (const { path, keys } of issues.filter(isAboutUnknown)) {
    const owner = path.reduce<unknown>((at, step) => (at as Record<PropertyKey, unknown>)[step], copy)
    for (const key of keys) delete (owner as Record<string, unknown>)[key]
  }
  return copy
}

/** The fields that are allowed at a path of a body. */
function namesAt(schema: z.ZodObject, path: readonly PropertyKey[]): string[] {
  const at = unwrapped(schemaAt(schema, path))
  return at instanceof z.ZodObject ? Object.keys(at.shape) : []
}

function isOptionalAt(schema: z.ZodObject, path: readonly PropertyKey[]): boolean {
  const at = schemaAt(schema, path)
  return at instanceof z.ZodOptional || at instanceof z.ZodDefault
}

/** Finds the schema of the field at a path, in the schema of the whole body. */
function schemaAt(schema: z.ZodObject, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((whole, step) => {
    const at = unwrapped(whole)
    if (at instanceof z.ZodArray) return at.element
    return at instanceof z.ZodObject ? at.shape[String(step)] : undefined
  }, schema)
}

function unwrapped(schema: unknown): unknown {
  let at = schema
  while (at instanceof z.ZodOptional || at instanceof z.ZodDefault || at instanceof z.ZodNullable) {
    at = at.unwrap()
  }
  return at
}
