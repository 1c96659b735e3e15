import { timingSafeEqual } from 'node:crypto'
import { type FaultyReceiver, HONEST, nowSeconds, type Steps } from '../own-receiver.js'

const digitsOf = /t=(\d+)/
const anySignature = /v1=(\w*)/
/** For a header with nothing but one `t`, which is first, and signatures. */
const onlyTime = /^t=(\d+),[^t]*$/

/** Reads the header with one expression for each half, as is often seen. */
function readWith(time: RegExp, signature: RegExp): Steps['readHeader'] {
  return (header = '') => {
    const t = time.exec(header)?.[1]
    const v1 = signature.exec(header)?.[1]
    return t !== undefined && v1 !== undefined ? { t, signatures: [v1] } : undefined
  }
}

/** Makes a number of what is in `t`, and verifies with that. */
function readNumber(toNumber: (text: string) => number): Steps['readHeader'] {
  return (header = '') => {
    const [, text = '', v1 = ''] = /^t=([^,]*),v1=(\w*)$/.exec(header) ?? []
    const number = toNumber(text)
    return number > 0 ? { t: String(number), signatures: [v1] } : undefined
  }
}

export const FIRST_SIGNATURE_ALONE: Partial<Steps> = { readHeader: readWith(onlyTime, anySignature) }

const lastDigitsOf = /.*t=(\d+)/

/** An old delivery with another `t` after its own seems fresh to it. */
export const TWO_TIMES: Partial<Steps> = {
  readHeader: (header = '') => {
    const times = [digitsOf, lastDigitsOf].flatMap((time) => time.exec(header)?.[1] ?? [])
    const signatures = [...header.matchAll(/v1=(\w*)/g)].map(([, v1 = '']) => v1)
    return times.length === 2 && signatures.length > 0 ? { t: times.join(' '), signatures } : undefined
  },
  signedContent: (times, body) => HONEST.signedContent(times.split(' ')[0] ?? '', body),
  isFresh: (times) => HONEST.isFresh(times.split(' ')[1] ?? ''),
}

/** Faults in the verification of a delivery. */
export const FAULTY_VERIFYING: readonly FaultyReceiver[] = [
  [
    'parses before it verifies',
    { first: (body) => void JSON.parse(body.toString()) },
    ['tampered-byte', 'truncated', 'empty-body'],
  ],
  [
    'parses before it verifies, and takes an empty body for an empty object',
    {
      first: (body) => void JSON.parse(body.toString() || '{}'),
    },
    ['tampered-byte', 'truncated'],
  ],
  [
    'says that it has no handler before it verifies',
    {
      first: (body) => (body.includes('order.created"') ? undefined : 200),
    },
    ['missing-header', 'wrong-secret', 'empty-body', 'not-json', 'not-an-envelope'],
  ],
  [
    'answers a body of no bytes as a ping',
    { first: (body) => (body.length === 0 ? 200 : undefined) },
    ['empty-body', 'not-json'],
  ],
  [
    'takes note of the order before it verifies',
    {
      first: (body, memory) => {
        const { id } = (/(?<id>ord_\w+)/.exec(body.toString())?.groups ?? {}) as { id?: string }
        if (id !== undefined && memory.get(id) === 'done') return 200
        if (id !== undefined) memory.set(id, 'done')
        return undefined
      },
      once: (_key, _memory, run) => run().then(() => 200),
    },
    ['missing-header', 'malformed-header', 'tampered-byte', 'wrong-secret', 'truncated', 'duplicate'],
  ],
  [
    'verifies what has a header',
    { readHeader: (header) => (header === undefined ? 'unsigned is fine' : HONEST.readHeader(header)) },
    ['missing-header'],
  ],
  [
    'takes an empty header for none',
    { readHeader: (header) => (header ? HONEST.readHeader(header) : 'unsigned is fine') },
    ['missing-header'],
  ],
  [
    'throws where there is no header',
    { readHeader: (header) => HONEST.readHeader((header as string).trim()) },
    ['missing-header'],
  ],
  [
    'calls a malformed header a wrong signature',
    { readHeader: (header) => HONEST.readHeader(header) ?? { t: '', signatures: [] } },
    ['missing-header', 'malformed-header'],
  ],
  ['takes the first t', { readHeader: readWith(digitsOf, anySignature) }, ['malformed-header']],
  ['takes the last t', { readHeader: readWith(lastDigitsOf, anySignature) }, ['malformed-header']],
  ['verifies the first t, and judges the age by the last', TWO_TIMES, ['malformed-header']],
  [
    'takes any signature, of whatever version',
    { readHeader: readWith(onlyTime, /=(\w*)$/) },
    ['malformed-header'],
  ],
  [
    'reads t by parseInt',
    { readHeader: readNumber((text) => Number.parseInt(text, 10)) },
    ['malformed-header'],
  ],
  ['reads t by Number', { readHeader: readNumber(Number) }, ['malformed-header']],
  [
    'verifies what it has parsed and written again',
    { signedContent: (t, body) => `${t}.${JSON.stringify(JSON.parse(body.toString()))}` },
    ['tampered-byte', 're-serialised-body', 'truncated', 'empty-body'],
  ],
  ['trims the body', { signedContent: (t, body) => `${t}.${body.toString().trim()}` }, ['tampered-byte']],
  [
    'drops a byte order mark',
    { signedContent: (t, body) => `${t}.${new TextDecoder().decode(body)}` },
    ['tampered-byte'],
  ],
  [
    'reads the body as latin1',
    { signedContent: (t, body) => `${t}.${body.toString('latin1')}` },
    ['unknown-kind'],
  ],
  [
    'reads the body as ASCII',
    { signedContent: (t, body) => `${t}.${body.toString('ascii')}` },
    ['unknown-kind'],
  ],
  [
    'normalises the text',
    { signedContent: (t, body) => `${t}.${body.toString().normalize()}` },
    ['unknown-kind'],
  ],
  [
    'takes the first chunk for the whole body',
    { signedContent: (t, body) => `${t}.${body.subarray(0, 200)}` },
    ['not-json', 'not-an-envelope', 'duplicate', 'concurrent-burst', 'unknown-kind'],
  ],
  [
    'leaves the dot out',
    { signedContent: (t, body) => `${t}${body}` },
    ['not-json', 'not-an-envelope', 'duplicate', 'concurrent-burst', 'unknown-kind'],
  ],
  [
    'ignores the signature',
    { isSame: () => true },
    [
      'tampered-byte',
      're-serialised-body',
      'wrong-secret',
      'truncated',
      'other-endpoints-secret',
      'empty-body',
      'duplicate',
    ],
  ],
  [
    // A promise is as good as true.
    'does not await the verification',
    { isSame: async () => false },
    [
      'tampered-byte',
      're-serialised-body',
      'wrong-secret',
      'truncated',
      'other-endpoints-secret',
      'empty-body',
      'duplicate',
    ],
  ],
  [
    'compares as far as the signature goes',
    { isSame: (given, expected) => expected.startsWith(given) },
    ['truncated'],
  ],
  [
    'compares the first bytes',
    { isSame: (given, expected) => given.slice(0, 8) === expected.slice(0, 8) },
    ['truncated'],
  ],
  [
    'throws on a signature of another length',
    { isSame: (given, expected) => timingSafeEqual(Buffer.from(given), Buffer.from(expected)) },
    ['truncated'],
  ],
  ['has no look at t', { isFresh: () => true }, ['stale', 'future']],
  ['refuses only what is old', { isFresh: (t) => nowSeconds() - Number(t) <= 300 }, ['future']],
  ['refuses only what is of the future', { isFresh: (t) => Number(t) - nowSeconds() <= 300 }, ['stale']],
  [
    'counts the tolerance in milliseconds',
    { isFresh: (t) => Math.abs(nowSeconds() - Number(t)) <= 300_000 },
    ['stale', 'future'],
  ],
  [
    'takes t for milliseconds',
    { isFresh: (t) => Math.abs(Date.now() - Number(t)) <= 300_000 },
    ['not-json', 'not-an-envelope', 'duplicate', 'concurrent-burst', 'unknown-kind'],
  ],
]
