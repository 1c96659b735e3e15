import fc from 'fast-check'
import { type SignatureOptions, type VerifyOptions, verifySignature } from 'tix-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { SECRET, sign } from '../../support/deliveries.js'

const AT = 1_747_490_531

/** Verifies a delivery that was signed at `AT`, this many milliseconds later. */
async function verifyAfter(ms: number, options: Partial<VerifyOptions> = {}) {
  const { signature } = options
  const timestamp = signature?.timestampUnit === 'ms' ? AT * 1000 : AT
  const { header, body } = await sign(
    '{}',
    signature === undefined ? { timestamp } : { timestamp, signature },
  )
  return verifySignature(body, header, { secret: SECRET, now: () => AT * 1000 + ms, ...options })
}

afterEach(() => {
  vi.restoreAllMocks()
})

describe('the tolerance', () => {
  test.each<[string, number, Partial<VerifyOptions>, string | undefined]>([
    ['300 s old by the second, as t is whole seconds', 300_999, {}, undefined],
    ['ahead by a part of the next second', -300_001, {}, 'timestamp_in_future'],
    ['300,000 ms old', 300_000, { signature: { timestampUnit: 'ms' } }, undefined],
    ['one millisecond too old', 300_001, { signature: { timestampUnit: 'ms' } }, 'timestamp_too_old'],
    [
      'one millisecond too far ahead',
      -300_001,
      { signature: { timestampUnit: 'ms' } },
      'timestamp_in_future',
    ],
  ])('of what is %s', async (_, ms, options, code) => {
    const end = await verifyAfter(ms, options).catch((error: unknown) => error)
    expect(end).toMatchObject(
      code === undefined ? { signedAt: new Date(AT * 1000), secretIndex: 0 } : { code },
    )
  })

  test('is the same in both directions and ends where it says', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 400_000 }),
        fc.integer({ min: -500_000, max: 500_000 }),
        async (toleranceSeconds, ageSeconds) => {
          const verified = verifyAfter(ageSeconds * 1000, { toleranceSeconds })
          if (Math.abs(ageSeconds) <= toleranceSeconds) return void (await verified)
          await expect(verified).rejects.toMatchObject({
            code: ageSeconds > 0 ? 'timestamp_too_old' : 'timestamp_in_future',
          })
        },
      ),
    )
  })

  test('is judged by the system clock where no other is given', async () => {
    const now = vi.spyOn(Date, 'now').mockReturnValue(AT * 1000)
    const { header, body } = await sign('{}')
    expect(header).toMatch(`t=${AT},`)
    await verifySignature(body, header, { secret: SECRET })
    now.mockReturnValue((AT + 301) * 1000)
    await expect(verifySignature(body, header, { secret: SECRET })).rejects.toMatchObject({
      code: 'timestamp_too_old',
    })
  })
})

describe('the message', () => {
  test('of a late delivery says its age, what is allowed, and to widen the tolerance where retries are not re-signed', async () => {
    await expect(verifyAfter(340_000)).rejects.toThrow(
      /authentic, but 340 s old, and 300 s are allowed: is this machine's clock right\? If the sender does not sign its retries again, set toleranceSeconds to 259200 \(72 h\)/,
    )
  })

  test('of a delivery that is older than any retry points at the clock alone', async () => {
    await expect(verifyAfter(259_200_000)).rejects.toThrow(/If the sender does not sign its retries again/)
    const refused = verifyAfter(259_201_000)
    await expect(refused).rejects.toThrow(
      /259201 s old, and 300 s are allowed: is this machine's clock right\?/,
    )
    await expect(refused).rejects.not.toThrow(/toleranceSeconds/)
  })

  test('says so where t looks like milliseconds and seconds are expected', async () => {
    const { header, body } = await sign('{}', { timestamp: AT * 1000 })
    const verified = verifySignature(body, header, { secret: SECRET, now: () => AT * 1000 })
    await expect(verified).rejects.toMatchObject({ code: 'timestamp_in_future' })
    await expect(verified).rejects.toThrow(/looks like milliseconds: set signature\.timestampUnit to "ms"/)
  })
})

test('an authentic t that is too large for a number is refused as in the future', async () => {
  const huge = '9'.repeat(400)
  const signedContent = (_: string, body: Uint8Array): Uint8Array =>
    Buffer.concat([Buffer.from(`${huge}.`), body])
  const signature: SignatureOptions = { signedContent }
  // signPayload refuses such a timestamp, so only the signed content has it.
  const { header, body } = await sign('{}', { timestamp: 1, signature })
  await expect(
    verifySignature(body, header.replace('t=1,', `t=${huge},`), { secret: SECRET }),
  ).rejects.toMatchObject({ code: 'timestamp_in_future' })
})
