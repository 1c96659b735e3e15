import { asItIs, distinct, type Variant } from './variant.js'
import { type JsonStyle, writeJson } from './write-json.js'

const RAW =
  'Something parsed the body and serialised it again: verify the raw bytes, before any parser (a JSON middleware, a proxy, a log).'
const SAVED = 'An editor or a shell changes a saved body like that; printf and curl --data-binary do not.'

const STYLES: readonly (readonly [what: string, write: (value: unknown) => string])[] = [
  ['the same JSON without white space', style({})],
  ['the same JSON indented by two spaces', (value) => JSON.stringify(value, null, 2)],
  ['the same JSON indented by four spaces', (value) => JSON.stringify(value, null, 4)],
  ['the same JSON indented by tabs', (value) => JSON.stringify(value, null, '\t')],
  ['the same JSON with its names sorted', style({ sortKeys: true })],
  ['the same JSON with non-ASCII characters escaped', style({ ascii: true })],
  ['the same JSON as PHP writes it', style({ ascii: true, slashes: true })],
  ['the same JSON as Python writes it', style({ comma: ', ', colon: ': ', ascii: true })],
  [
    'the same JSON as Python writes it with sorted names',
    style({ comma: ', ', colon: ': ', ascii: true, sortKeys: true }),
  ],
  ['the same JSON with a space after commas and colons', style({ comma: ', ', colon: ': ' })],
]

const BOM = Uint8Array.of(0xef, 0xbb, 0xbf)

/** The body, and what it may have been when it was signed, such as indented JSON. */
export function bodyVariants(body: Uint8Array): readonly Variant<Uint8Array>[] {
  return distinct([asItIs(body), ...lineEnds(body), ...marks(body), ...encodings(body), ...rewritten(body)])
}

function lineEnds(body: Uint8Array): Variant<Uint8Array>[] {
  // Bytes as characters, so that nothing is lost.
  const text = Buffer.from(body).toString('latin1')
  const variant = (what: string, changed: string): Variant<Uint8Array> => ({
    what,
    advice: SAVED,
    value: Buffer.from(changed, 'latin1'),
  })
  return [
    variant('the body without the line end at its end', text.replace(/\r?\n$/, '')),
    variant('the body without white space at its edges', text.replaceAll(/^[ \t\r\n]+|[ \t\r\n]+$/g, '')),
    variant('the body with a line end after it', `${text}\n`),
    variant('the body with CR LF after it', `${text}\r\n`),
    variant('the body with LF for each CR LF', text.replaceAll('\r\n', '\n')),
    variant('the body with CR LF for each LF', text.replaceAll(/\r?\n/g, '\r\n')),
  ]
}

function marks(body: Uint8Array): Variant<Uint8Array>[] {
  const isMarked = Buffer.from(body.subarray(0, BOM.length)).equals(BOM)
  return [
    isMarked
      ? {
          what: 'the body without its byte order mark',
          advice: 'An editor adds it: save the body without it.',
          value: body.subarray(BOM.length),
        }
      : {
          what: 'the body with a byte order mark',
          advice: 'Decoding as text drops it: verify the raw bytes.',
          value: Buffer.concat([BOM, body]),
        },
  ]
}

function encodings(body: Uint8Array): Variant<Uint8Array>[] {
  const text = Buffer.from(body).toString()
  const isLatin1 = /^[\0-\xff]*$/.test(text)
  const quoted = parsedJson(text)
  return [
    {
      what: 'the body decoded as latin1 and encoded as UTF-8',
      advice: 'One side signs text that it decoded wrongly: sign and verify the raw bytes.',
      value: Buffer.from(Buffer.from(body).toString('latin1')),
    },
    ...(isLatin1
      ? [
          {
            what: 'the body encoded as latin1',
            advice: 'Something read UTF-8 as latin1 and encoded it again: verify the raw bytes.',
            value: Buffer.from(text, 'latin1'),
          },
        ]
      : []),
    {
      what: 'the body with replacement characters for invalid UTF-8',
      advice: 'The signature is over decoded text: sign and verify the raw bytes.',
      value: Buffer.from(text),
    },
    ...(typeof quoted === 'string'
      ? [
          {
            what: 'the text inside the body, which is a JSON string',
            advice: 'The body was serialised twice, as loggers do: verify the text inside.',
            value: Buffer.from(quoted),
          },
        ]
      : []),
  ]
}

function rewritten(body: Uint8Array): Variant<Uint8Array>[] {
  const value = parsedJson(new TextDecoder().decode(body))
  if (value === undefined) return []
  return STYLES.map(([what, write]) => ({ what, advice: RAW, value: Buffer.from(write(value)) }))
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function style(options: JsonStyle): (value: unknown) => string {
  return (value) => writeJson(value, options)
}
