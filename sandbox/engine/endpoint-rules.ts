import * as z from 'zod'
import { KIND_PATTERN } from './kinds.js'
import { isPlainUrl, PLAIN_URL } from './network/plain-url.js'

const MAX_EVENTS = 50
const MAX_TEXT = 2048

const url = z
  .string('must be a string')
  .max(MAX_TEXT, `must have at most ${MAX_TEXT} characters`)
  .refine(isPlainUrl, { error: PLAIN_URL, abort: true })
  .refine(
    isHttpUrl,
    'must be an http or https address without a name and password in it, such as http://localhost:3000/hooks',
  )

const secret = z
  .string('must be a string')
  .min(1, 'must not be empty')
  .max(MAX_TEXT, `must have at most ${MAX_TEXT} characters`)
  .refine((text) => text === text.trim(), 'must not begin or end with white space')

const EVENTS_RULE = 'must be a list of kinds, of groups such as event.*, or ["*"]'

const events = z
  .array(z.string().regex(KIND_PATTERN), EVENTS_RULE)
  .min(1, 'must not be empty: ["*"] is everything')
  .max(MAX_EVENTS, `must have at most ${MAX_EVENTS} entries`)

const patchSchema = z.strictObject({
  url: url.optional(),
  events: events.optional(),
  secret: secret.optional(),
  enabled: z.boolean('must be true or false').optional(),
})

const inputSchema = patchSchema.extend({
  url,
  mode: z
    .string('must be test or live')
    .regex(/^[a-z]{1,20}$/, 'must be test or live')
    .optional(),
})

const rotationSchema = z.strictObject({
  secret: secret.optional(),
  keepOld: z.boolean('must be true or false').optional(),
})

/** @throws TypeError that names what is wrong */
export const checkedInput = (input: unknown) => parse(inputSchema, input)

/** @throws TypeError that names what is wrong */
export const checkedPatch = (patch: unknown) => parse(patchSchema, patch)

/** @throws TypeError that names what is wrong */
export const checkedRotation = (rotation: unknown) => parse(rotationSchema, rotation)

/** @throws TypeError if it is not a valid http or https URL. Whether its address is allowed is checked when a webhook is sent */
export function checkUrl(text: string): void {
  parse(z.strictObject({ url }), { url: text })
}

function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === ''
}

/** The first thing that is wrong, by its name; never the value, which may be a secret. */
function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const read = schema.safeParse(value)
  if (read.success) return read.data
  const [issue] = read.error.issues
  const [name, index] = issue?.path ?? []
  if (issue?.code === 'unrecognized_keys') {
    throw new TypeError(`An endpoint has no ${issue.keys.join(', ')}.`)
  }
  if (name === undefined)
    throw new TypeError(
      'An endpoint is described by an object, such as { url: "http://localhost:3000/hooks" }.',
    )
  const message = index === undefined ? issue?.message : EVENTS_RULE
  throw new TypeError(`The endpoint's ${String(name)} ${message}.`)
}
