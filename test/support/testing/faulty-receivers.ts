import { timingSafeEqual } from 'node:crypto'
import { HONEST, nowSeconds, type OwnEvent, type Steps } from '../own-receiver.js'
import type { Faults, Patch } from './patched.js'

const digitsOf = /t=(\d+)/
const lastDigitsOf = /.*t=(\d+)/
const anySignature = /v1=(\w*)/
/** For a header with nothing but one `t`, which is first, and signatures. */
const onlyTime = /^t=(\d+),[^t]*$/

/** Reads the header with one expression for each half, as is often seen. */
function readingWith(time: RegExp, signature: RegExp): Patch<Steps> {
  return () => ({
    readHeader(header = '') {
      const t = time.exec(header)?.[1]
      const v1 = signature.exec(header)?.[1]
      return t !== undefined && v1 !== undefined ? { t, signatures: [v1] } : undefined
    },
  })
}

/** Makes a number of what is in `t`, and verifies with that. */
function readingNumber(toNumber: (text: string) => number): Patch<Steps> {
  return () => ({
    readHeader(header = '') {
      const [, text = '', v1 = ''] = /^t=([^,]*),v1=(\w*)$/.exec(header) ?? []
      const number = toNumber(text)
      return number > 0 ? { t: String(number), signatures: [v1] } : undefined
    },
  })
}

export const FIRST_SIGNATURE_ALONE = readingWith(onlyTime, anySignature)

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

/** Verifies another text. */
const signing =
  (contentOf: (body: Buffer) => string): Patch<Steps> =>
  () => ({ signedContent: (t, body) => `${t}.${contentOf(body)}` })

/** Tells events apart by another key. */
const keyedBy =
  (keyOf: Steps['keyOf']): Patch<Steps> =>
  () => ({ keyOf })

/** Does something else with an event that was handled, or whose handler runs. */
const knowing =
  (state: 'running' | 'done', status: number): Patch<Steps> =>
  ({ once }) => ({
    once: async (key, memory, run) => (memory.get(key) === state ? status : once(key, memory, run)),
  })

const VERIFYING: Faults<Steps> = {
  'tampered-byte, truncated': () => ({ first: (body) => void JSON.parse(body.toString() || '{}') }),
  // Says that it has no handler before it verifies.
  'missing-header, wrong-secret, empty-body, not-json, not-an-envelope': () => ({
    first: (body) => (body.includes('order.created"') ? undefined : 200),
  }),
  'empty-body, not-json': () => ({ first: (body) => (body.length === 0 ? 200 : undefined) }),
  // Takes note of the order before it verifies.
  'missing-header, malformed-header, tampered-byte, wrong-secret, truncated, duplicate': () => ({
    first(body, memory) {
      const { id } = (/(?<id>ord_\w+)/.exec(body.toString())?.groups ?? {}) as { id?: string }
      if (id !== undefined && memory.get(id) === 'done') return 200
      if (id !== undefined) memory.set(id, 'done')
      return undefined
    },
    once: (_key, _memory, run) => run().then(() => 200),
  }),
  'missing-header': [
    ({ readHeader }) => ({ readHeader: (header) => (header ? readHeader(header) : 'unsigned is fine') }),
    ({ readHeader }) => ({ readHeader: (header) => readHeader((header as string).trim()) }),
  ],
  'missing-header, malformed-header': ({ readHeader }) => ({
    readHeader: (header) => readHeader(header) ?? { t: '', signatures: [] },
  }),
  'two-v1, malformed-header': [
    readingWith(digitsOf, anySignature),
    readingWith(lastDigitsOf, anySignature),
    readingWith(onlyTime, /=(\w*)$/),
    readingNumber((text) => Number.parseInt(text, 10)),
    readingNumber(Number),
  ],
  'malformed-header': () => TWO_TIMES,
  'whitespace, unicode, tampered-byte, re-serialised-body, truncated, empty-body': signing((body) =>
    JSON.stringify(JSON.parse(body.toString())),
  ),
  'whitespace, tampered-byte': signing((body) => body.toString().trim()),
  'tampered-byte': signing((body) => new TextDecoder().decode(body)),
  'unicode, unknown-kind': [
    signing((body) => body.toString('latin1')),
    signing((body) => body.toString().normalize()),
  ],
  'valid, whitespace, unicode, extra-fields, large, two-v1, reordered, tied, chunked, tiny-chunks, slow-body, not-json, not-an-envelope, duplicate, concurrent-burst, unknown-kind':
    [
      () => ({ signedContent: (t, body) => `${t}${body}` }),
      () => ({ isFresh: (t) => Math.abs(Date.now() - Number(t)) <= 300_000 }),
    ],
  'tampered-byte, re-serialised-body, wrong-secret, truncated, other-endpoints-secret, empty-body, duplicate':
    () => ({ isSame: () => true }),
  truncated: [
    () => ({ isSame: (given, expected) => expected.startsWith(given) }),
    () => ({ isSame: (given, expected) => given.slice(0, 8) === expected.slice(0, 8) }),
    () => ({ isSame: (given, expected) => timingSafeEqual(Buffer.from(given), Buffer.from(expected)) }),
  ],
  'stale, future': () => ({ isFresh: () => true }),
  future: () => ({ isFresh: (t) => nowSeconds() - Number(t) <= 300 }),
  stale: () => ({ isFresh: (t) => Number(t) - nowSeconds() <= 300 }),
  'two-v1': [
    FIRST_SIGNATURE_ALONE,
    ({ readHeader }) => ({
      readHeader(header) {
        const parts = readHeader(header)
        return typeof parts === 'object' ? { ...parts, signatures: parts.signatures.slice(-1) } : parts
      },
    }),
  ],
}

const READING: Faults<Steps> = {
  large: ({ read }) => ({
    async read(body) {
      const bytes = await read(body)
      return typeof bytes === 'number' || bytes.length <= 100 * 1024 ? bytes : 413
    },
  }),
  'chunked, tiny-chunks, slow-body': () => ({
    read: async (body) => Buffer.from((await body.getReader().read()).value ?? []),
  }),
  // Reads 100 chunks.
  'tiny-chunks': () => ({
    async read(body) {
      const chunks: Uint8Array[] = []
      for await (const chunk of body) if (chunks.push(chunk) === 100) break
      return Buffer.concat(chunks)
    },
  }),
  // Takes what is there at once for the whole body.
  'slow-body': () => ({
    async read(body) {
      const reader = body.getReader()
      const chunks: Uint8Array[] = []
      const aTurn = () => new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined)))
      const next = () => Promise.race([reader.read(), aTurn()])
      for (let chunk = await next(); chunk?.value !== undefined; chunk = await next())
        chunks.push(chunk.value)
      return Buffer.concat(chunks)
    },
  }),
}

const HANDLING: Faults<Steps> = {
  'not-json': () => ({
    readJson(body) {
      try {
        return JSON.parse(body.toString())
      } catch {
        return { type: 'ping', created_at: 'now', data: {} }
      }
    },
  }),
  'not-json, not-an-envelope': () => ({ onBadPayload: 400 }),
  'not-an-envelope': [
    () => ({ isEvent: () => true }),
    ({ isEvent }) => ({
      isEvent: (value) => isEvent({ created_at: 'now', ...(value as object) }),
      keyOf: ({ data }) => data.order?.id,
    }),
    // Takes a list for data.
    ({ isEvent }) => ({
      isEvent: (value) => isEvent({ ...(value as object), data: (value as OwnEvent | null)?.data && {} }),
      keyOf: ({ data }) => data.order?.id,
    }),
  ],
  'unknown-kind': [
    () => ({ onUnknownKind: 500 }),
    () => ({ findHandler: (handlers, type) => handlers[type] }),
    // Takes every kind that begins like its own.
    () => ({
      findHandler: (handlers, type) => Object.entries(handlers).find(([kind]) => type.startsWith(kind))?.[1],
      keyOf: ({ data }) => data.order?.id,
    }),
  ],
  'whitespace, unicode, two-v1, tied, duplicate, concurrent-burst': () => ({
    once: (_key, _memory, run) => run().then(() => 200),
  }),
  'concurrent-burst': [
    // Looks whether it ran, and notes it afterwards.
    () => ({
      async once(key, memory, run) {
        if (memory.has(key)) return 200
        await run()
        memory.set(key, 'done')
        return 200
      },
    }),
    knowing('running', 409),
  ],
  'whitespace, unicode, two-v1, tied, duplicate': knowing('done', 409),
  'whitespace, unicode, two-v1, duplicate': keyedBy((_event, header) => String(header)),
  'whitespace, unicode, extra-fields, large, two-v1, reordered, tied, chunked, tiny-chunks, slow-body, duplicate, concurrent-burst':
    keyedBy(({ type }) => type),
  'reordered, tied': keyedBy(({ type, created_at }) => `${type} ${created_at}`),
  // Cannot keep what is outside of the first plane.
  unicode: () => ({
    handle(event) {
      if (/[\u{10000}-\u{10ffff}]/u.test(JSON.stringify(event))) throw new Error('incorrect string value')
    },
  }),
  'extra-fields, large': ({ isEvent }) => ({
    isEvent: (value) => isEvent(value) && Object.keys(value as object).length === 3,
  }),
  // Refuses what is older than what it has seen.
  reordered: ({ isEvent }) => {
    let latest = ''
    return {
      isEvent(value) {
        if (!isEvent(value)) return false
        const { type, created_at } = value as OwnEvent
        if (type !== 'order.created') return true
        const isInOrder = created_at >= latest
        if (isInOrder) latest = created_at
        return isInOrder
      },
    }
  },
}

export const FAULTY_RECEIVERS: Faults<Steps> = { ...VERIFYING, ...READING, ...HANDLING }
