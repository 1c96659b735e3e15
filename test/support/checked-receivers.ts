import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { ScenarioName } from 'tix-webhooks/testing'
import { HONEST, type OwnEvent, ownReceiver, type Steps } from './own-receiver.js'

/** How somebody reads a request; undefined: it is answered already. */
type Reading = (request: IncomingMessage, response: ServerResponse) => Promise<Buffer | undefined>

/** A receiver on `node:http`, and the scenarios by which `check` sees what is wrong with it: these and no others. */
export interface CheckedReceiver {
  readonly fault: string
  readonly seenBy: readonly ScenarioName[]
  listener(): RequestListener
}

export const FORGED: readonly ScenarioName[] = [
  'missing-header',
  'malformed-header',
  'tampered-byte',
  're-serialised-body',
  'wrong-secret',
  'stale',
  'future',
  'truncated',
  'other-endpoints-secret',
  'empty-body',
]

/** The receiver that is written by hand, over HTTP. */
export function byHand(steps: Partial<Steps> = {}, reading: Reading = readWhole): RequestListener {
  const receiver = ownReceiver(steps)
  return async (request, response) => {
    const body = await reading(request, response)
    if (body === undefined) return
    const toRequest = () =>
      new Request('http://localhost/hooks', { method: 'POST', body: new Uint8Array(body) })
    const headers = request.headers as Record<string, string>
    const { status } = await receiver.send({ headers, toRequest }).catch(() => ({ status: 500 }))
    response.writeHead(status).end()
  }
}

export const CHECKED_RECEIVERS: readonly CheckedReceiver[] = [
  wrong('parses before it verifies', ['tampered-byte', 'truncated', 'empty-body'], {
    first: (body) => void JSON.parse(body.toString()),
  }),
  wrong(
    'verifies what it has parsed and written again',
    ['whitespace', 'unicode', 'tampered-byte', 're-serialised-body', 'truncated', 'empty-body'],
    { signedContent: (t, body) => `${t}.${JSON.stringify(JSON.parse(body.toString()))}` },
  ),
  wrong('has no look at t', ['stale', 'future'], { isFresh: () => true }),
  wrong('answers 500 to kinds that it does not know', ['unknown-kind'], { onUnknownKind: 500 }),
  wrong('answers 404 to kinds that it does not know', ['unknown-kind'], { onUnknownKind: 404 }),
  wrong('takes what has no signature', ['missing-header'], {
    readHeader: (header) => (header ? HONEST.readHeader(header) : 'unsigned is fine'),
  }),
  wrong('compares as far as the signature goes', ['truncated'], {
    isSame: (given, expected) => expected.startsWith(given),
  }),
  wrong('reads t by parseInt', ['malformed-header'], {
    readHeader: (header = '') => {
      const [, text = '', v1 = ''] = /^t=([^,]*),v1=(\w*)(?:,v1=\w*)*$/.exec(header) ?? []
      const t = Number.parseInt(text, 10)
      const signatures = [v1, ...[...header.matchAll(/v1=(\w*)/g)].map(([, more = '']) => more)]
      return t > 0 ? { t: String(t), signatures } : undefined
    },
  }),
  wrong('answers 200 to what it cannot read', ['not-json', 'not-an-envelope'], { onBadPayload: 200 }),
  wrong('refuses fields that it does not know', ['extra-fields', 'large'], {
    isEvent: (value) => HONEST.isEvent(value) && Object.keys(value as object).length === 3,
  }),
  wrong('relies on a title', ['thin'], {
    handle: ({ type, data }: OwnEvent) => type === 'event.published' && data.event?.title.toUpperCase(),
  }),
  wrong('takes the first v1 alone', ['two-v1'], {
    readHeader: (header) => {
      const parts = HONEST.readHeader(header)
      return typeof parts === 'object' ? { ...parts, signatures: parts.signatures.slice(0, 1) } : parts
    },
  }),
  wrong('answers 409 to a duplicate', ['whitespace', 'unicode', 'two-v1', 'duplicate'], {
    once: async (key, memory, run) => (memory.get(key) === 'done' ? 409 : HONEST.once(key, memory, run)),
  }),
  wrong('falls over when many come at once', ['concurrent-burst'], {
    async once(key, memory, run) {
      if (memory.get(key) === 'running') throw new Error('deadlock')
      return HONEST.once(key, memory, async () => {
        await new Promise((resolve) => setTimeout(resolve, 25))
        await run()
      })
    },
  }),
  read(
    'takes the first chunk for the whole body',
    ['large', 'chunked', 'slow-body'],
    (request) =>
      new Promise((resolve) => {
        request.once('data', resolve)
        request.once('end', () => resolve(Buffer.of()))
      }),
  ),
  read('collects text', ['chunked', 'slow-body'], async (request) => {
    let text = ''
    for await (const chunk of request) text += chunk
    return Buffer.from(text)
  }),
  read('reads as much as the length says', ['chunked'], async (request) => {
    const body = await readWhole(request)
    return body.subarray(0, Number(request.headers['content-length'] ?? 0))
  }),
  read('has a limit of 100 KiB', ['large'], async (request, response) => {
    const body = await readWhole(request)
    if (body.length <= 100 * 1024) return body
    response.writeHead(413).end()
    return undefined
  }),
  {
    fault: 'verifies nothing',
    seenBy: [...FORGED, 'not-json', 'not-an-envelope'],
    listener: () => (request, response) =>
      void request.resume().on('end', () => response.writeHead(204).end()),
  },
]

function wrong(fault: string, seenBy: readonly ScenarioName[], steps: Partial<Steps>): CheckedReceiver {
  return { fault, seenBy, listener: () => byHand(steps) }
}

function read(fault: string, seenBy: readonly ScenarioName[], reading: Reading): CheckedReceiver {
  return { fault, seenBy, listener: () => byHand({}, reading) }
}

export async function readWhole(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Ends as a process does: what is open is cut off, and nothing listens any more. */
export function crash(server: Server): void {
  server.close()
  server.closeAllConnections()
}
