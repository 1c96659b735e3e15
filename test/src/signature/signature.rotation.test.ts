import fc from 'fast-check'
import { verifySignature } from 'tix-webhooks'
import { expect, test } from 'vitest'
import { SECRET, sign } from '../../support/deliveries.js'
import { expectMismatch } from '../../support/expect-mismatch.js'
import { bodies, differentSecrets } from '../../support/signature-arbitraries.js'

const AT = 1_747_490_531
const now = (): number => AT * 1000

test('a header signed by several secrets verifies with any of them alone', async () => {
  await fc.assert(
    fc.asyncProperty(differentSecrets, bodies, async (several, body) => {
      const { header } = await sign(body, { secret: several, timestamp: AT })
      expect(header.match(/v1=/g)).toHaveLength(several.length)
      for (const secret of several) {
        expect(await verifySignature(body, header, { secret, now })).toMatchObject({ secretIndex: 0 })
      }
    }),
  )
})

test('secretIndex says which of the receiver\u2019s secrets matched', async () => {
  await fc.assert(
    fc.asyncProperty(differentSecrets, bodies, fc.nat(), async (several, body, at) => {
      const index = at % several.length
      const { header } = await sign(body, { secret: several[index], timestamp: AT })
      expect(await verifySignature(body, header, { secret: several, now })).toMatchObject({
        secretIndex: index,
      })
    }),
  )
})

test('of several that match, the first of the receiver\u2019s counts, whatever the order in the header', async () => {
  const { header, body } = await sign('{}', { secret: ['old', 'new'], timestamp: AT })
  for (const secret of [
    ['old', 'new'],
    ['new', 'old'],
  ]) {
    expect(await verifySignature(body, header, { secret, now })).toMatchObject({ secretIndex: 0 })
  }
})

test('a good v1 counts wherever it stands among bad ones', async () => {
  const { header, body } = await sign('{}', { timestamp: AT })
  const good = header.slice(header.indexOf('v1='))
  const bad = `v1=${'0'.repeat(64)}`
  for (const order of [
    [good, bad, bad],
    [bad, good, bad],
    [bad, 'v1=', 'v1=zz', good],
  ]) {
    await verifySignature(body, [`t=${AT}`, ...order].join(','), { secret: SECRET, now })
  }
  await expectMismatch(body, `t=${AT},${bad},${bad}`, { secret: SECRET, now })
})

test('every secret is tried, also after a match', async () => {
  const { header, body } = await sign('{}', { secret: 'first', timestamp: AT })
  let made = 0
  const signedContent = (t: string, content: Uint8Array): Uint8Array => {
    made += 1
    return Buffer.concat([Buffer.from(`${t}.`), content])
  }
  await verifySignature(body, header, {
    secret: ['first', 'second', 'third'],
    signature: { signedContent },
    now,
  })
  expect(made).toBe(3)
})
