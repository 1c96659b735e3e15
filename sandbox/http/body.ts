import { HttpError } from './errors.js'

/** The largest body, in bytes: 1 MiB. */
export const MAX_BODY_BYTES = 1024 * 1024

/** How deep a body may be nested, so that recursive code does not run out of stack. */
const MAX_DEPTH = 100

const UTF_8 = /^charset\s*=\s*"?utf-8"?$/

/** The rule for a request's body. */
export interface BodyRule {
  /** Whether there must be one. */
  readonly required: boolean
  /** Whether it has an image, which clients may try to upload. Default false. */
  readonly image?: boolean
}

/**
 * Reads a body that must be a JSON object.
 *
 * @returns undefined if there is none, and need not be
 * @throws HttpError that says what is wrong with it
 */
export async function readJson(
  request: Request,
  { required, image = false }: BodyRule,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const type = request.headers.get('content-type')
  if (image && type?.toLowerCase().startsWith('multipart/')) {
    throw new HttpError(
      'image_upload_not_shown',
      'The form of an upload of the image is not documented. Send JSON, with the URL of the image.',
      { param: 'image' },
    )
  }
  if (type !== null) checkJsonType(type)
  checkEncoding(request)
  const bytes = await readBytes(request)
  if (bytes.length > 0) {
    checkJsonType(type ?? '')
    return parseObject(decode(bytes))
  }
  if (required) throw new HttpError('invalid_json', 'There is no body. Send a JSON object: {"name": value}.')
  return undefined
}

/** @throws HttpError if it is another type than JSON */
export function checkJsonType(type: string): void {
  if (isJson(type)) return
  const found = type === '' ? 'there is none' : `it is ${JSON.stringify(type.slice(0, 100))}`
  throw new HttpError(
    'unsupported_media_type',
    `The content-type must be application/json, and ${found}. Send the header "content-type: application/json".`,
  )
}

/** Split at its semicolons: one expression with a blank before and after each of them would take quadratic time. */
function isJson(type: string): boolean {
  const [media, ...parameters] = type
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  // A semicolon at the end is common.
  if (parameters.at(-1) === '') parameters.pop()
  return media === 'application/json' && parameters.length <= 1 && parameters.every((one) => UTF_8.test(one))
}

/** Reads a body of any kind. @throws HttpError if it is too large, or does not arrive whole */
export async function readBytes(request: Request): Promise<Uint8Array> {
  const declared = Number(request.headers.get('content-length') ?? 0)
  if (declared > MAX_BODY_BYTES) throw tooLarge()
  if (request.body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunksOf(request.body)) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch {
    throw new HttpError('invalid_json', 'The body ended before it was whole. Send it again.')
  }
}

function checkEncoding(request: Request): void {
  const encoding = request.headers.get('content-encoding')
  if (encoding === null || encoding.toLowerCase() === 'identity') return
  throw new HttpError(
    'unsupported_media_type',
    'The body has a content-encoding, which is not taken. Send it uncompressed.',
  )
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new HttpError('invalid_json', 'The body is not valid UTF-8. Send JSON, encoded as UTF-8.')
  }
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  if (depthOf(text) > MAX_DEPTH) {
    throw new HttpError(
      'invalid_json',
      `The body is nested deeper than ${MAX_DEPTH} levels. Send a flatter one.`,
    )
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new HttpError('invalid_json', `The body is not JSON: ${(error as SyntaxError).message}.`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>
  }
  throw new HttpError('invalid_json', 'The body is JSON, but not an object. Send an object: {"name": value}.')
}

/** How deep a text of JSON is nested. It is not walked as a value: that is what runs out of stack. */
function depthOf(text: string): number {
  let depth = 0
  let deepest = 0
  for (const [mark] of text.matchAll(/"(?:[^"\\]|\\.)*"?|[[\]{}]/gs)) {
    if (mark === '{' || mark === '[') deepest = Math.max(deepest, ++depth)
    else if (mark === '}' || mark === ']') depth--
  }
  return deepest
}

function tooLarge(): HttpError {
  return new HttpError(
    'body_too_large',
    `The body is larger than ${MAX_BODY_BYTES} bytes (1 MiB). Send a smaller one.`,
  )
}
