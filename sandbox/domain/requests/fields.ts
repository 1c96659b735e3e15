import * as z from 'zod'
import { MOMENT_PATTERNS, type MomentForm, readMoment } from '../events/moments.js'
import type { RefusalCode } from '../refusal.js'
import { NOT_SHOWN } from '../resources.js'
import { LIMITS } from './limits.js'

/**
 * A rule that a schema has beside its type. The code is that of the refusal; the message continues a sentence that begins with the
 * name of the field.
 */
export function refusal(code: RefusalCode): { params: { code: RefusalCode } } {
  return { params: { code } }
}

/** A rule about two fields. It is checked even if other fields are invalid, so that the caller sees all errors at once. */
export function rule(code: RefusalCode, path: string, message: string) {
  return { ...refusal(code), path: [path], error: message, when: isAboutFields }
}

function isAboutFields({ value }: { value: unknown }): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A moment in one of the forms, kept as the text that was sent. `readMoment` parses it. */
export function moment(form: MomentForm): z.ZodString {
  return z
    .string()
    .superRefine((text, context) => {
      const read = readMoment(text, form)
      if (typeof read === 'string') {
        context.addIssue({ code: 'custom', message: read, ...refusal('parameter_invalid') })
      }
    })
    .meta({ pattern: MOMENT_PATTERNS[form] })
}

/** The id of something that must exist, which only the account can check. */
export function reference(prefix: string): z.ZodString {
  return z.string().meta({ pattern: `^${prefix}_` })
}

/** Control characters, including line breaks, and lone surrogates: databases refuse a NUL, and a ticket cannot print a bell. */
const CONTROL = /[\p{Cc}\p{Cs}]/u
const C = '\\u0000-\\u001f\\u007f-\\u009f'

/** The characters that `trim` removes, without controls. A line has at least one other, and the pattern checks that in one pass. */
const B = '\\u0020\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff'
const LINE = `^[${B}]*[^${C}${B}][^${C}]*$`

/** A maximum of characters as JSON Schema counts them: an emoji is one, though its `length` is 2. */
function atMost(maximum: number) {
  return (text: string, context: z.RefinementCtx): void => {
    if (text.length <= maximum || [...text].length <= maximum) return
    context.addIssue({ code: 'too_big', origin: 'string', maximum, inclusive: true, input: text })
  }
}

/** Text on one line. Blanks around it are trimmed; a line break is refused. */
export function line(maxCharacters: number) {
  return z
    .string()
    .refine((text) => !CONTROL.test(text), {
      error: 'must have no control characters, such as NUL or a line break: leave them out',
      abort: true,
      ...refusal('parameter_invalid'),
    })
    .trim()
    .min(1)
    .superRefine(atMost(maxCharacters))
    .meta({ pattern: LINE, maxLength: maxCharacters })
}

/** Text without a tag, which HTML opens by `<` before a letter, `/`, `!` or `?`: "I <3 NY" and "A < B" are allowed. */
const NO_TAG = '<(?![A-Za-z/!?])'
const TITLE = `^[${B}]*(?:[^<${C}${B}]|${NO_TAG})(?:[^<${C}]|${NO_TAG})*$`
const TAG = /<[A-Za-z/!?]/

/** The title of an event: text without HTML. */
export const title = line(LIMITS.titleCharacters)
  .refine((text) => !TAG.test(text), {
    error: 'must have no HTML: leave out the tags, or put a blank after each <',
    ...refusal('title_contains_html'),
  })
  .meta({
    pattern: TITLE,
    maxLength: LIMITS.titleCharacters,
    description: 'Shown on the event page and on tickets. No HTML.',
  })

/** Tabs and line breaks are of the text. */
const CONTROL_IN_TEXT = /(?![\t\n\r])[\p{Cc}\p{Cs}]/u

export const description = z
  .string()
  .superRefine(atMost(LIMITS.descriptionCharacters))
  .refine((text) => !CONTROL_IN_TEXT.test(text), {
    error: 'must have no control characters but tabs and line breaks: leave them out',
    ...refusal('parameter_invalid'),
  })
  .meta({
    pattern: '^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f]*$',
    maxLength: LIMITS.descriptionCharacters,
    description:
      'Markdown. The tags of raw HTML are taken out, and so are link targets other than http, https, mailto, tel and relative ones.',
  })

/** The characters that RFC 3986 allows. Others are refused, even if browsers repair them. */
const PATH_CHARACTER = "(?:%[0-9A-Fa-f]{2}|[A-Za-z0-9._~!$&'()*+,;=:@-])"
const HTTP_URL = `^[Hh][Tt][Tt][Pp][Ss]?://(?:[A-Za-z0-9._~-]+|\\[[0-9A-Fa-f:.]+\\])(?::[0-9]{1,5})?(?:/${PATH_CHARACTER}*)*(?:\\?(?:${PATH_CHARACTER}|[/?])*)?(?:#(?:${PATH_CHARACTER}|[/?])*)?$`
const IS_HTTP_URL = new RegExp(HTTP_URL)

/** The image of an event, by its URL. An upload is not described in the specification. */
export const image = z
  .string()
  .max(LIMITS.urlCharacters)
  .superRefine((text, context) => {
    if (/^\s*data:/i.test(text)) {
      context.addIssue({
        code: 'custom',
        message: 'is an upload, whose form is not documented: give an http or https URL',
        ...refusal('image_upload_not_shown'),
      })
    } else if (!IS_HTTP_URL.test(text) || !URL.canParse(text)) {
      context.addIssue({
        code: 'custom',
        message:
          'must be an http or https URL, such as https://example.com/poster.jpg; write other characters percent-encoded',
        ...refusal('parameter_invalid'),
      })
    }
  })
  .meta({
    format: 'uri',
    pattern: HTTP_URL,
    description: 'An http or https URL. The form of an upload is not documented.',
    ...NOT_SHOWN,
  })
