import { deepStrictEqual, rejects } from 'node:assert/strict'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { sign as octokitSign, verify as octokitVerify } from '@octokit/webhooks-methods'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { Webhook as SvixWebhook } from 'svix'
import { verifyWebhook } from 'tix-webhooks'
import { limit } from './limit.js'
import { SECRET, sign, tampered } from './orders.js'

/** One way to verify a delivery and to parse its body. */
export interface Verifier {
  readonly name: string
  /**
   * Signs a body in this verifier's scheme, and returns the call that verifies the received body with that signature. The call
   * returns the event, or a promise of it; it throws or rejects if the body is not the signed one.
   */
  prepare(signed: Buffer, received: Buffer): Promise<() => unknown>
}

/** The verifier under test. */
export const ours: Verifier = {
  name: 'verifyWebhook',
  async prepare(signed, received) {
    const { header } = await sign(signed)
    return () => verifyWebhook(received, header, { secret: SECRET })
  },
}

/** The lower bound for any verifier. */
export const theLimit: Verifier = {
  name: 'the limit',
  async prepare(signed, received) {
    const verify = limit(SECRET)
    const { header } = await sign(signed)
    return () => verify(received, header)
  },
}

/** As in providers' documentation for `express.raw`: the text is signed, and the signatures are compared as texts. */
const byHand: Verifier = {
  name: 'by hand, as in the documentation of providers',
  async prepare(signed, received) {
    const { header } = await sign(signed)
    return () => {
      const parts = Object.fromEntries(header.split(',').map((part) => part.split('=')))
      const expected = createHmac('sha256', SECRET).update(`${parts.t}.${received}`).digest('hex')
      if (!timingSafeEqual(Buffer.from(expected), Buffer.from(parts.v1))) throw new Error('Invalid signature')
      if (Math.abs(Date.now() / 1000 - Number(parts.t)) > 300) throw new Error('Too old')
      return JSON.parse(received.toString())
    }
  },
}

export const stripe: Verifier = {
  name: 'stripe: constructEvent',
  async prepare(signed, received) {
    const { webhooks } = Stripe
    const header = webhooks.generateTestHeaderString({ payload: signed.toString(), secret: SECRET })
    return () => webhooks.constructEvent(received, header, SECRET)
  },
}

const BASE64_SECRET = `whsec_${Buffer.from(SECRET.padEnd(24)).toString('base64')}`

const standardwebhooks: Verifier = {
  name: 'standardwebhooks: verify',
  async prepare(signed, received) {
    const webhook = new StandardWebhook(BASE64_SECRET)
    const headers = standardHeaders('webhook', webhook, signed)
    return () => webhook.verify(received, headers)
  },
}

const svix: Verifier = {
  name: 'svix: verify',
  async prepare(signed, received) {
    const webhook = new SvixWebhook(BASE64_SECRET)
    const headers = standardHeaders('svix', webhook, signed)
    return () => webhook.verify(received, headers)
  },
}

let messages = 0

function standardHeaders(
  prefix: string,
  webhook: StandardWebhook | SvixWebhook,
  signed: Buffer,
): Record<string, string> {
  const id = `msg_${String(++messages).padStart(24, '0')}`
  const now = new Date()
  return {
    [`${prefix}-id`]: id,
    [`${prefix}-timestamp`]: String(Math.floor(now.getTime() / 1000)),
    [`${prefix}-signature`]: webhook.sign(id, now, signed),
  }
}

const octokit: Verifier = {
  name: '@octokit/webhooks-methods: verify, then JSON.parse',
  async prepare(signed, received) {
    const signature = await octokitSign(SECRET, signed.toString())
    const text = received.toString()
    return async () => {
      if (!(await octokitVerify(SECRET, text, signature))) throw new Error('Invalid signature')
      return JSON.parse(text)
    }
  },
}

/** The libraries that people use today. */
export const peers: readonly Verifier[] = [stripe, standardwebhooks, svix, octokit, byHand]

/** Checks that a verifier returns the event of a genuine delivery, and refuses a tampered one. */
export async function prove({ prepare }: Verifier, body: Buffer): Promise<void> {
  const genuine = await prepare(body, body)
  deepStrictEqual(await genuine(), JSON.parse(body.toString()))
  const forged = await prepare(body, tampered(body))
  await rejects(async () => forged())
}
