import { signedBody } from 'tix-webhooks/testing'
import { LIMIT_BYTES, SECRET } from '../app/contract.js'
import type { Case } from './case.js'
import { assertAnswer, type Client, order } from './client.js'

/** Types that a browser's form sends to any site; without one, some hosts assume the worst. */
const FORM_TYPES = [
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'text/plain',
  undefined,
]

/** The signature is verified over the bytes as they were sent. */
export const bodyCases: readonly Case[] = [
  {
    name: 'a body in chunks',
    async run(client) {
      assertAnswer(await client.send('main', (await order()).delivery, true), 200, 'handled')
    },
  },
  {
    name: 'a byte order mark, and text beyond ASCII',
    async run(client) {
      const { body } = (await order()).delivery
      const marked = `\uFEFF${body.replace(/\}$/, ', "note": "žluťoučký 🎟️" }')}`
      const { headers } = await signedBody(marked, { secret: SECRET })
      assertAnswer(await client.send('main', { headers, body: marked }), 200, 'handled')
    },
  },
  {
    name: 'any content type',
    run: (client) => sendAs(client, ['application/octet-stream', 'application/xml']),
  },
  {
    name: 'the content types of forms, or none',
    unless: 'refusesForms',
    run: (client) => sendAs(client, FORM_TYPES),
  },
  {
    name: 'a body at the limit',
    async run(client) {
      const { body } = (await order()).delivery
      const padded = body.padEnd(LIMIT_BYTES)
      const { headers } = await signedBody(padded, { secret: SECRET })
      assertAnswer(await client.send('main', { headers, body: padded }), 200, 'handled')
    },
  },
  ...[false, true].map(
    (chunked) =>
      ({
        name: `a body over the limit, ${chunked ? 'in chunks' : 'with its length'}: 413`,
        async run(client) {
          const { headers, body } = (await order()).delivery
          const padded = body.padEnd(4 * LIMIT_BYTES)
          assertAnswer(await client.send('main', { headers, body: padded }, chunked), 413, 'too_large')
        },
      }) satisfies Case,
  ),
]

async function sendAs(client: Client, types: readonly (string | undefined)[]): Promise<void> {
  for (const type of types) {
    const { headers, body } = (await order()).delivery
    const { 'content-type': _, ...rest } = headers
    const sent = { ...rest, ...(type && { 'content-type': type }), origin: 'https://elsewhere.example' }
    assertAnswer(await client.send('main', { headers: sent, body }), 200, 'handled')
  }
}
