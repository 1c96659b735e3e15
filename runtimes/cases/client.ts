import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, request } from 'node:http'
import type { SigningOptions } from 'tix-webhooks/testing'
import { signedDelivery } from 'tix-webhooks/testing'
import { type Log, SECRET } from '../app/contract.js'

/** An answer, after the checks that every answer must pass. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly outcome: string
}

/** A request, as `node:http` sends it. */
interface Sent {
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/** Talks to the server of a lane. */
export type Client = ReturnType<typeof createClient>

/**
 * A client of the server on that port.
 *
 * @param hooks the path of the endpoints
 * @param controls the path of the server's answers about itself
 */
export function createClient(port: number, { hooks = '/hooks/', controls = '/control/' } = {}) {
  /** Sends a request to an endpoint; `chunked` leaves out its length. */
  async function send(
    endpoint: string,
    { method = 'POST', headers, body }: Sent,
    chunked = false,
  ): Promise<Answer> {
    const length = method === 'GET' || chunked ? {} : { 'content-length': Buffer.byteLength(body ?? '') }
    const { response, text } = await exchange(`${hooks}${endpoint}`, method, { ...headers, ...length }, body)
    const status = response.statusCode ?? 0
    const outcome = method === 'POST' ? outcomeIn(text) : ''
    return { status, headers: response.headers, outcome }
  }

  function exchange(path: string, method: string, headers: object, body?: string | Uint8Array) {
    return new Promise<{ response: IncomingMessage; text: string }>((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, path, method, headers: { ...headers }, agent: false })
      sent.on('error', reject)
      sent.on('response', async (response) => {
        try {
          let text = ''
          for await (const part of response.setEncoding('utf8')) text += part
          resolve({ response, text })
        } catch (error) {
          reject(error)
        }
      })
      if (body !== undefined) sent.write(body)
      sent.end()
    })
  }

  /** Asks a server for its state. */
  async function control<Result>(path: string): Promise<Result> {
    const { text } = await exchange(`${controls}${path}`, 'GET', {})
    return JSON.parse(text)
  }

  return {
    port,
    hooks,
    send,
    control,
    log: () => control<Log>('log'),
    drain: (endpoint: string) => control(`drain/${endpoint}`),
  }
}

/** The service reads nothing but the status, but nothing else may be in a body. */
function outcomeIn(text: string): string {
  const { outcome, ...rest } = JSON.parse(text) as { outcome: string }
  assert.deepEqual(rest, {}, text)
  return outcome
}

/** An order whose id asks the handler for something: `wait-1500`, `discard`, `fail`; and its delivery. */
export async function order(action = 'do', options: Partial<SigningOptions> = {}) {
  const id = `${action}:${randomUUID()}`
  const delivery = await signedDelivery('order.created', {
    secret: SECRET,
    data: { order: { id } },
    ...options,
  })
  return { id, delivery }
}

/** @throws Error unless the answer has this status and outcome */
export function assertAnswer(answer: Answer, status: number, outcome: string): void {
  assert.equal(`${answer.status} ${answer.outcome}`, `${status} ${outcome}`)
  assert.match(String(answer.headers['content-type']), /^application\/json/)
}

/** The runs of an order's handler. */
export async function runsOf(client: Client, id: string): Promise<Log['runs']> {
  return (await client.log()).runs.filter((run) => run.id === id)
}

/** Asks again until there is a result; the other end is another process, so there is no clock to inject. */
export async function eventually<Result>(
  what: string,
  ask: () => Promise<Result | undefined | false>,
): Promise<Result> {
  const end = performance.now() + 20_000
  while (performance.now() < end) {
    const result = await ask()
    if (result) return result
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`not within 20 s: ${what}`)
}
