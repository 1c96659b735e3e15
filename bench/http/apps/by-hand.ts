import { createHmac, timingSafeEqual } from 'node:crypto'
import { SECRET } from '../contestants.js'

const TOLERANCE_SECONDS = 300

/** The code in providers' documents: returns the event if the signature is valid and fresh, else undefined. */
export function verifiedEvent(rawBody: Buffer, header: string | undefined): unknown {
  const parts = new Map((header ?? '').split(',').map((part) => part.split('=', 2) as [string, string]))
  const [t, v1] = [parts.get('t') ?? '', parts.get('v1') ?? '']
  const expected = createHmac('sha256', SECRET).update(`${t}.`).update(rawBody).digest()
  const given = Buffer.from(v1, 'hex')
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
  if (Math.abs(Date.now() / 1000 - Number(t)) > TOLERANCE_SECONDS) return undefined
  return JSON.parse(rawBody.toString())
}
