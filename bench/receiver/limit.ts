import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'

const TOLERANCE_SECONDS = 300

/**
 * The least work that can be correct: any receiver of this signature must do it, for one header form, one secret and one
 * signature, without error messages. It is synchronous.
 */
export function limit(secret: string): (body: Buffer, header: string) => unknown {
  return limitOfMany([secret])
}

/** The same for several secrets, one of which has signed. */
export function limitOfMany(secrets: readonly string[]): (body: Buffer, header: string) => unknown {
  const keys = secrets.map((secret) => createSecretKey(Buffer.from(secret)))
  return (body, header) => {
    const comma = header.indexOf(',')
    const t = header.slice('t='.length, comma)
    const signature = Buffer.from(header.slice(comma + ',v1='.length), 'hex')
    let isGenuine = false
    for (const key of keys) {
      const expected = createHmac('sha256', key).update(`${t}.`).update(body).digest()
      if (signature.length === expected.length && timingSafeEqual(signature, expected)) isGenuine = true
    }
    if (!isGenuine) throw new Error('forged')
    if (!(Math.abs(Date.now() / 1000 - Number(t)) <= TOLERANCE_SECONDS)) throw new Error('not fresh')
    return JSON.parse(body.toString())
  }
}
