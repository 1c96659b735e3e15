import { signPayload } from 'tix-webhooks'
import { sampleEvent } from 'tix-webhooks/testing'

export const SECRET = 'whsec_bench_8f1d6c0a'

/** A signed order, as received. */
export interface SignedOrder {
  readonly body: Buffer
  readonly header: string
}

/** The sizes of the measured orders, in bytes: some 0.3, 3 and 60 KB. */
export const ORDER_BYTES = [300, 3_000, 60_000] as const

const SAMPLE_ID = sampleEvent('order.created', { seed: 1 }).data.order.id
const texts = new Map<number, string>()

let orders = 0

/** The body of a new order of about this size, which decides its number of tickets. */
export function orderBody(bytes: number): Buffer {
  orders += 1
  const id = `ord_${orders.toString(16).padStart(8, '0')}`
  return Buffer.from(textOf(bytes).replace(SAMPLE_ID, id))
}

/** New orders, signed now. */
export async function signedOrders(count: number, bytes: number = ORDER_BYTES[0]): Promise<SignedOrder[]> {
  const signed: SignedOrder[] = []
  for (let i = 0; i < count; i++) signed.push(await sign(orderBody(bytes)))
  return signed
}

/** @param timestamp seconds since the epoch. Default: now */
export async function sign(body: Buffer, secret = SECRET, timestamp?: number): Promise<SignedOrder> {
  const at = timestamp === undefined ? {} : { timestamp }
  return { body, header: await signPayload(body, { secret, ...at }) }
}

/** A tampered order: one digit of a price is changed, so that it is still an order, but not the signed one. */
export function tampered(body: Buffer): Buffer {
  const changed = Buffer.from(body)
  const at = changed.indexOf('"total_cents":') + '"total_cents":'.length
  changed[at] = changed[at] === 0x39 ? 0x38 : 0x39
  return changed
}

function textOf(bytes: number): string {
  const made = texts.get(bytes) ?? sampleText(bytes)
  texts.set(bytes, made)
  return made
}

function sampleText(bytes: number): string {
  let [tickets, text] = [1, sampleWith(1)]
  // The ids of later tickets are longer: the first step comes close, the second is exact.
  for (let step = 0; step < 2; step++) {
    const bytesOfOne = (text.length - sampleWith(0).length) / tickets
    tickets = Math.max(1, tickets + Math.round((bytes - text.length) / bytesOfOne))
    text = sampleWith(tickets)
  }
  return text
}

function sampleWith(tickets: number): string {
  const data = { tickets: Array.from({ length: tickets }, () => ({})) }
  return JSON.stringify(sampleEvent('order.created', { seed: 1, data }))
}
