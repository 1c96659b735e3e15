import fc from 'fast-check'
import {
  ConfigurationError,
  type Secret,
  type SignatureOptions,
  signPayload,
  type VerifyOptions,
  verifySignature,
  WebhookVerificationError,
} from 'tix-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { isPlaceholder } from '../../../src/lib/placeholder.js'
import { SECRET, sign } from '../../support/deliveries.js'
import { packageWithEngine } from '../../support/engines.js'
import { secrets, signatureOptions } from '../../support/signing.js'

const isWhite = (byte: number | undefined): boolean =>
  byte === 0x20 || (byte !== undefined && byte >= 0x09 && byte <= 0x0d)

const bytesOf = (secret: Secret): Uint8Array =>
  typeof secret === 'string' ? new TextEncoder().encode(secret) : secret

/** Whether the bytes of a secret are accepted: not empty, and without white space at the start or end. */
function isUsableSecret(bytes: Uint8Array): boolean {
  const isPadded = isWhite(bytes.at(0)) || isWhite(bytes.at(-1))
  return bytes.length > 0 && !isPadded && !isPlaceholder(new TextDecoder().decode(bytes))
}

const secretBytes: fc.Arbitrary<Uint8Array> = secrets.map(bytesOf)

/** Secrets that differ as HMAC keys too: HMAC pads a short key with zeros, so that `k` and `k\0` are the same key. */
const differentSecrets: fc.Arbitrary<Secret[]> = fc.uniqueArray(secrets, {
  selector: (secret) =>
    Buffer.from(bytesOf(secret))
      .toString('hex')
      .replace(/(00)+$/, ''),
  minLength: 1,
  maxLength: 6,
})

const bodies: fc.Arbitrary<Uint8Array> = fc.uint8Array({ maxLength: 300 })

/** The same bytes with one of them changed. */
function withByteChanged(bytes: Uint8Array, at: number, by: number): Uint8Array {
  const changed = Uint8Array.from(bytes)
  const index = at % bytes.length
  changed[index] = (changed[index] ?? 0) ^ by
  return changed
}

/** Expects that a delivery is refused because no signature matches, and for no other reason. */
async function expectMismatch(
  body: Uint8Array | string,
  header: string,
  options: VerifyOptions,
): Promise<void> {
  const verified = verifySignature(body, header, options)
  await expect(verified).rejects.toBeInstanceOf(WebhookVerificationError)
  await expect(verified).rejects.toMatchObject({
    code: 'signature_mismatch',
    message: expect.stringMatching(/is the secret the one of this endpoint/),
  })
}

const AT = 1_747_490_531
const now = (): number => AT * 1000

const timestamps = fc.nat({ max: 4_000_000_000 })

/** A signed timestamp of this scheme, in milliseconds. */
const msOf = (timestamp: number, { timestampUnit }: SignatureOptions): number =>
  timestampUnit === 'ms' ? timestamp : timestamp * 1000

test('what is signed verifies: any body, secret, scheme and timestamp', { tags: ['slow'] }, async () => {
  const web = await packageWithEngine('web')
  await fc.assert(
    fc.asyncProperty(
      bodies,
      secrets,
      signatureOptions,
      timestamps,
      async (body, secret, signature, timestamp) => {
        const ms = msOf(timestamp, signature)
        const expected = { signedAt: new Date(ms), secretIndex: 0 }
        const header = await signPayload(body, { secret, signature, timestamp })
        const options: VerifyOptions = { secret, signature, now: () => ms }
        expect(await verifySignature(body, header, options)).toEqual(expected)
        // Each engine verifies the other's signatures.
        expect(await web.api.verifySignature(body, header, options)).toEqual(expected)
      },
    ),
  )
})

test('what was changed is refused: any byte of the body or the secret, any digit of the timestamp, a zero before it', async () => {
  const changes = fc.tuple(fc.nat(), fc.integer({ min: 1, max: 9 }))
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ minLength: 1 }),
      secretBytes,
      signatureOptions,
      changes,
      async (body, secret, signature, [at, by]) => {
        const { header } = await sign(body, { secret, signature, timestamp: AT })
        const options = { secret, signature, now }
        const digits = [...String(AT)]
        const index = at % digits.length
        digits[index] = String((Number(digits[index]) + by) % 10)
        await expectMismatch(withByteChanged(body, at, by), header, options)
        await expectMismatch(body, header.replace(`t=${AT}`, `t=${digits.join('')}`), options)
        await expectMismatch(body, header.replace(`t=${AT}`, `t=0${AT}`), options)
        const other = withByteChanged(secret, at, by)
        if (isUsableSecret(other)) await expectMismatch(body, header, { ...options, secret: other })
      },
    ),
  )
})

test('a parsed body is the programmer\u2019s mistake, not the sender\u2019s', async () => {
  const { header } = await sign('{}', { timestamp: AT })
  const verified = verifySignature({} as Uint8Array, header, { secret: SECRET, now })
  await expect(verified).rejects.toThrow(TypeError)
  await expect(verified).rejects.toThrow(/rawBody must be the bytes.*not an object.*parsed body/)
})

describe('forms of the signature', () => {
  test('hex is compared without case', async () => {
    const { header, body } = await sign('{}', { timestamp: AT })
    const signature = header.slice(header.indexOf('v1=') + 3)
    const mixed = [...signature].map((char, i) => (i % 2 === 0 ? char.toUpperCase() : char)).join('')
    for (const spelling of [signature.toUpperCase(), mixed]) {
      await verifySignature(body, `t=${AT},v1=${spelling}`, { secret: SECRET, now })
    }
  })

  test('base64 is compared with case', async () => {
    const signature = { encoding: 'base64' } as const
    const { header, body } = await sign('{}', { timestamp: AT, signature })
    const text = header.slice(header.indexOf('v1=') + 3)
    await expectMismatch(body, `t=${AT},v1=${text.toLowerCase()}`, { secret: SECRET, signature, now })
  })

  test('a function gets the digits as they were sent and the body, and its bytes are signed', async () => {
    const seen: unknown[] = []
    const signedContent = (t: string, body: Uint8Array): Uint8Array => {
      seen.push([t, new TextDecoder().decode(body)])
      return new TextEncoder().encode(`v0:${t}:${new TextDecoder().decode(body)}`)
    }
    const { header, body } = await sign('{}', { timestamp: AT, signature: { signedContent } })
    await verifySignature(body, header, { secret: SECRET, signature: { signedContent }, now })
    expect(seen).toEqual([
      [String(AT), '{}'],
      [String(AT), '{}'],
    ])
    await expectMismatch(body, header, { secret: SECRET, now })
  })

  test('a function that returns a promise is a misconfiguration', async () => {
    const signedContent = () => Promise.resolve(new Uint8Array()) as never
    const { header, body } = await sign('{}', { timestamp: AT })
    const verified = verifySignature(body, header, { secret: SECRET, signature: { signedContent }, now })
    await expect(verified).rejects.toBeInstanceOf(ConfigurationError)
    await expect(verified).rejects.toThrow(
      'returned a promise: it must return the signed bytes as a Uint8Array',
    )
  })
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
  test('of a late delivery says its age, what is allowed, and to widen the tolerance if it may be a retry', async () => {
    await expect(verifyAfter(259_200_000)).rejects.toThrow(
      /authentic, but 259200 s old, and 300 s are allowed: is this machine's clock right\? If the sender does not sign its retries again, set toleranceSeconds to 259200 \(72 h\)/,
    )
    const refused = verifyAfter(259_201_000)
    await expect(refused).rejects.toThrow(/259201 s old, .* is this machine's clock right\?/)
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
