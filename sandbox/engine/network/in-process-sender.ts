import { MAX_TIMER_MS } from '../../time/duration.js'
import { answerOf, MAX_BODY_BYTES } from './answer.js'
import type { OutgoingRequest, Send, SendResult } from './send.js'
import { piecesOf, SLOW_PIECE_MS } from './transport.js'

/** A receiver in this process: a handler as web frameworks have it. */
export type Deliver = (request: Request) => Response | Promise<Response>

/** After so many requests, other tasks get a turn: requests in process wait for no network, so they would block timers and the release of memory. */
const REQUESTS_OF_A_TURN = 100

/** The real timers, read before a test can fake them. If they were faked before this module loaded, no pause is made. */
const { setImmediate, setTimeout: setRealTimeout } = globalThis
const areReal = !isFakeTimer(setImmediate) && !isFakeTimer(setRealTimeout)

/** Sends each request to a function in this process, without a network. */
export function inProcessSender(deliver: Deliver): Send {
  let requests = 0
  return async (request) => {
    requests += 1
    if (areReal && requests % REQUESTS_OF_A_TURN === 0)
      await new Promise<void>((resolve) => setImmediate(resolve))
    const { timeoutMs, signal } = request
    const stopped = new AbortController()
    const answer = receive(deliver, request, stopped.signal)
    let end = (): void => {}
    const givenUp = new Promise<SendResult>((resolve) => {
      const giveUp = (result: SendResult): void => {
        resolve(result)
        stopped.abort()
      }
      const expire = () => giveUp(failure('timeout', `The receiver did not answer within ${timeoutMs} ms.`))
      const breakOff = () => giveUp(failure('ABORT_ERR', 'The answer was not waited for.'))
      const timer = timeoutMs === 0 ? undefined : setTimeout(expire, Math.min(timeoutMs, MAX_TIMER_MS))
      signal?.addEventListener('abort', breakOff)
      end = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', breakOff)
      }
    })
    const result = await Promise.race([answer, givenUp])
    end()
    return result
  }
}

async function receive(deliver: Deliver, request: OutgoingRequest, signal: AbortSignal): Promise<SendResult> {
  try {
    const response: Response | undefined = await deliver(requestOf(request, signal))
    // Some frameworks have a Response class of their own, so the members are checked and not the class.
    if (typeof response?.status !== 'number') {
      return failure('receiver_threw', 'The receiver returned no Response. Is a return missing?')
    }
    return { response: answerOf(response.status, response.headers, await bodyOf(response, signal)) }
  } catch (error) {
    return failure('receiver_threw', `The receiver threw ${String(error)}.`)
  }
}

function failure(code: string, message: string): SendResult {
  return { error: { code, message } }
}

function requestOf(
  { url, headers, body, transport = 'whole' }: OutgoingRequest,
  signal: AbortSignal,
): Request {
  const pieces = transport === 'whole' ? [body] : piecesOf(body, transport)
  // A streamed body needs `duplex`, which the types lack.
  const init: RequestInit & { duplex: 'half' } = {
    method: 'POST',
    headers,
    // Always a stream: if a fake clock holds back queueMicrotask, a body that Node makes of bytes has no end.
    body: streamOf(pieces, transport === 'slow' ? SLOW_PIECE_MS : 0),
    duplex: 'half',
    signal,
  }
  return new Request(url, init)
}

function streamOf(pieces: readonly Uint8Array[], pauseMs: number): ReadableStream<Uint8Array> {
  let sent = 0
  return new ReadableStream({
    async pull(controller) {
      const piece = pieces[sent]
      if (piece === undefined) return controller.close()
      if (sent > 0 && pauseMs > 0 && areReal) await new Promise((resolve) => setRealTimeout(resolve, pauseMs))
      sent += 1
      controller.enqueue(piece)
    },
  })
}

/** Reads the part of a body that is kept; the rest is not read. */
async function bodyOf(
  { body }: Response,
  signal: AbortSignal,
): Promise<{ chunks: Uint8Array[]; truncated: boolean }> {
  const chunks: Uint8Array[] = []
  if (!body) return { chunks, truncated: false }
  const reader = body.getReader()
  signal.addEventListener('abort', () => void reader.cancel().catch(() => {}))
  for (let bytes = 0; ; ) {
    const { value, done } = await reader.read()
    if (done) return { chunks, truncated: false }
    if (isFakeTimer(globalThis.queueMicrotask) && isSame(value, chunks.at(-1))) {
      reader.cancel().catch(() => {})
      return { chunks, truncated: false }
    }
    chunks.push(value)
    bytes += value.length
    if (bytes > MAX_BODY_BYTES) {
      reader.cancel().catch(() => {})
      return { chunks, truncated: true }
    }
  }
}

/** Whether a timer function is one of sinon's, on which those of jest and vitest are built: it fires only when its clock ticks. */
function isFakeTimer(timer: unknown): boolean {
  return typeof timer === 'function' && 'clock' in timer
}

/** Whether a chunk repeats the one before. With a fake queueMicrotask the text of a Response repeats without end, so a repetition counts as its end. */
function isSame(chunk: Uint8Array, before: Uint8Array | undefined): boolean {
  return before !== undefined && Buffer.compare(chunk, before) === 0
}
