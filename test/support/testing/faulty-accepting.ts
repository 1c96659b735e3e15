import type { ScenarioName } from 'tix-webhooks/testing'
import { HONEST, type OwnEvent, type Steps } from '../own-receiver.js'
import { FIRST_SIGNATURE_ALONE } from './faulty-verifying.js'

/** Faults with genuine deliveries, and the scenarios of `event.published` that see each: these and no others. */
export type RefusingReceiver = readonly [
  fault: string,
  makeSteps: () => Partial<Steps>,
  seenBy: readonly ScenarioName[],
]

const ALL_GENUINE: readonly ScenarioName[] = [
  'valid',
  'whitespace',
  'unicode',
  'extra-fields',
  'thin',
  'large',
  'two-v1',
  'reordered',
  'tied',
  'chunked',
  'tiny-chunks',
  'slow-body',
]

export const FAULTY_ACCEPTING: readonly RefusingReceiver[] = [
  [
    'leaves the dot out',
    () => ({ signedContent: (t, body) => `${t}${body}` }),
    [...ALL_GENUINE, 'not-json', 'not-an-envelope', 'duplicate', 'concurrent-burst', 'unknown-kind'],
  ],
  [
    'verifies what it has parsed and written again',
    () => ({ signedContent: (t, body) => `${t}.${JSON.stringify(JSON.parse(body.toString()))}` }),
    ['whitespace', 'unicode', 'tampered-byte', 're-serialised-body', 'truncated', 'empty-body'],
  ],
  [
    'verifies what it has parsed and written again, escaped as it came',
    () => ({
      signedContent: (t, body) =>
        body.includes('\\u')
          ? Buffer.concat([Buffer.from(`${t}.`), body])
          : `${t}.${JSON.stringify(JSON.parse(body.toString()), null, body.includes('\n') ? 2 : 0)}`,
    }),
    ['whitespace', 'tampered-byte', 'truncated', 'empty-body'],
  ],
  [
    'reads the body as latin1',
    () => ({ signedContent: (t, body) => `${t}.${body.toString('latin1')}` }),
    ['unicode', 'unknown-kind'],
  ],
  [
    'cannot keep what is outside of the first plane',
    () => ({
      handle: (event) => {
        if (/[\u{10000}-\u{10ffff}]/u.test(JSON.stringify(event))) throw new Error('incorrect string value')
      },
    }),
    ['unicode'],
  ],
  [
    'refuses fields that it does not know',
    () => ({ isEvent: (value) => HONEST.isEvent(value) && Object.keys(value as object).length === 3 }),
    // The padding of the large one is a field that nobody knows.
    ['extra-fields', 'large'],
  ],
  ['relies on a title', () => ({ handle: ({ data }) => data.event?.title.toUpperCase() }), ['thin']],
  [
    'has a parser with a limit of 100 KiB',
    () => ({
      async read(body) {
        const bytes = await HONEST.read(body)
        return typeof bytes === 'number' || bytes.length <= 100 * 1024 ? bytes : 413
      },
    }),
    ['large'],
  ],
  ['takes the first v1 alone', () => FIRST_SIGNATURE_ALONE, ['two-v1']],
  [
    'takes the last v1 alone',
    () => ({
      readHeader: (header) => {
        const parts = HONEST.readHeader(header)
        return typeof parts === 'object' ? { ...parts, signatures: parts.signatures.slice(-1) } : parts
      },
    }),
    ['two-v1'],
  ],
  [
    'refuses what is older than what it has seen',
    () => {
      let latest = ''
      return {
        isEvent: (value) => {
          const isEvent = HONEST.isEvent(value)
          const { created_at, type } = value as OwnEvent
          if (!isEvent || type !== 'event.published') return isEvent
          const isInOrder = created_at >= latest
          if (isInOrder) latest = created_at
          return isInOrder
        },
      }
    },
    ['reordered'],
  ],
  [
    'takes the time of an event for its key',
    () => ({ keyOf: ({ type, created_at }) => `${type} ${created_at}` }),
    ['reordered', 'tied'],
  ],
  [
    'takes the first chunk for the whole body',
    () => ({ read: async (body) => Buffer.from((await body.getReader().read()).value ?? []) }),
    ['chunked', 'tiny-chunks', 'slow-body'],
  ],
  ['reads 100 chunks', () => ({ read: readChunks }), ['tiny-chunks']],
  ['takes what is there at once for the whole body', () => ({ read: readAtOnce }), ['slow-body']],
  [
    'runs every time',
    () => ({ once: (_key, _memory, run) => run().then(() => 200) }),
    ['whitespace', 'unicode', 'two-v1', 'tied', 'duplicate', 'concurrent-burst'],
  ],
]

async function readChunks(body: ReadableStream<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) if (chunks.push(chunk) === 100) break
  return Buffer.concat(chunks)
}

async function readAtOnce(body: ReadableStream<Uint8Array>): Promise<Buffer> {
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  const aTurn = () => new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined)))
  const next = () => Promise.race([reader.read(), aTurn()])
  for (let chunk = await next(); chunk?.value !== undefined; chunk = await next()) chunks.push(chunk.value)
  return Buffer.concat(chunks)
}
