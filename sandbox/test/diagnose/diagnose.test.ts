/** @module-tag slow */
import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import type { SignatureOptions } from 'tix-webhooks'
import { sampleEvent, signedBody } from 'tix-webhooks/testing'
import { envelopes } from 'tix-webhooks/testing/fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../../test/support/runs.js'
import { bodyVariants } from '../../diagnose/body-variants.js'
import { contentVariants } from '../../diagnose/content-variants.js'
import { type DiagnoseOptions, diagnose } from '../../diagnose/diagnose.js'
import { secretVariants } from '../../diagnose/secret-variants.js'

const NOW = Date.UTC(2026, 4, 17, 14, 2, 11)
const T = String(NOW / 1000)
const SECRET = 'whsec_dGlja2V0cyBmb3IgYWxs'
const BODY = JSON.stringify({
  ...sampleEvent('event.published', { seed: 1, data: { event: { title: 'Zoë' } } }),
  a: '/',
})

/** The HMAC of the sender, of the key and the content that it uses. */
function hmac(content: string | Uint8Array, key: string | Uint8Array = SECRET, hash = 'sha256') {
  return createHmac(hash, key).update(content)
}

const dotted = (body: string | Uint8Array): Buffer => Buffer.concat([Buffer.from(`${T}.`), Buffer.from(body)])
const RIGHT = hmac(dotted(BODY)).digest('hex')
const WRONG = hmac('something else').digest('hex')

function diagnosed(header: string, options: Partial<DiagnoseOptions> = {}) {
  return diagnose({ secret: SECRET, header, body: Buffer.from(BODY), now: () => NOW, ...options })
}

/** The first finding of a mismatch. */
async function found(v1: string, options: Partial<DiagnoseOptions> = {}): Promise<string | undefined> {
  const diagnosis = await diagnosed(`t=${T},v1=${v1}`, options)
  expect(diagnosis).toMatchObject({ valid: false, code: 'signature_mismatch' })
  return diagnosis.findings[0]
}

test('a valid delivery is reported with its time and its age', async () => {
  const { header } = await signedBody(BODY, { secret: SECRET, now: () => NOW - 7000 })
  const signedAt = new Date(NOW - 7000)
  expect(await diagnosed(header)).toEqual({ valid: true, signedAt, ageSeconds: 7, findings: [] })
})

test.each<[string, SignatureOptions]>([
  [
    'content and unit',
    { algorithm: 'SHA-512', encoding: 'base64', signedContent: 'concat', timestampUnit: 'ms' },
  ],
  ['the body alone', { signedContent: (_t, body) => body }],
  ['another header', { header: 'X-Other' }],
])('the signature options are used: %s', async (_, signature) => {
  const { header } = await signedBody(BODY, { secret: SECRET, now: () => NOW, signature })
  expect(await diagnosed(header, { signature })).toMatchObject({ valid: true, ageSeconds: 0 })
})

test.each<[before: string, after: string, ...findings: RegExp[]]>([
  ['X-Service-Signature: ', '', /given with its name.*"X-Service-Signature:"/],
  ['x-signature: ', '', /the name x-signature, but the signature is in x-service-signature/],
  ['"', '"', /in quotes/],
  ['', '\r\n'],
])('a header is valid between %j and %j', async (before, after, ...findings) => {
  const diagnosis = await diagnosed(`${before}t=${T},v1=${RIGHT}${after}`)
  expect(diagnosis).toMatchObject({
    valid: true,
    findings: findings.map((one) => expect.stringMatching(one)),
  })
})

test.each<[string | Uint8Array, RegExp]>([
  [
    `${T}${BODY}`,
    /^The signature matches t \+ body, without the dot\. Set signature\.signedContent to "concat"/,
  ],
  [BODY, /^The signature matches the body alone, without t\. .*\(t, body\) => body/],
  [`${T}000.${BODY}`, /^The signature matches t in milliseconds .* where the header has seconds\./],
])('other signed content is named', async (content, finding) => {
  expect(await found(hmac(content).digest('hex'))).toMatch(finding)
})

test.each<['base64' | 'base64url' | 'hex', SignatureOptions, RegExp]>([
  ['base64', {}, /^The signature matches base64 in place of hex\. Set signature\.encoding to "base64"\.$/],
  ['base64url', {}, /^The signature matches base64url in place of hex\. .*\+, \//],
  ['hex', { encoding: 'base64' }, /^The signature matches hex in place of base64\./],
])('another encoding is named: %s', async (encoding, signature, finding) => {
  expect(await found(hmac(dotted(BODY)).digest(encoding), { signature })).toMatch(finding)
})

test.each([
  ['sha1', 'SHA-1'],
  ['sha224', 'SHA-224'],
])('the hash %s is named by the length alone', async (hash, name) => {
  for (const encoding of ['hex', 'base64'] as const) {
    const finding = await found(hmac(dotted(BODY), SECRET, hash).digest(encoding))
    expect(finding).toMatch(`The signature has the length of ${name}, which is not supported`)
  }
})

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, one]) => [name, sorted(one)]))
}
const ascii = (text: string): string =>
  text.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
const PARSED: unknown = JSON.parse(BODY)
const INDENTED = JSON.stringify(PARSED, null, 2)
const CRLF = INDENTED.replaceAll('\n', '\r\n')
const AS_LATIN1 = Buffer.from(Buffer.from(BODY).toString('latin1'))
const PYTHON = '{"a": [1, {"b": "\\u00eb/"}], "c": {}, "d": []}'
const COMPACT = JSON.stringify(JSON.parse(PYTHON))

test.each<[what: string, signed: string | Uint8Array, given?: string | Uint8Array]>([
  ['the body without the line end at its end', BODY, `${BODY}\n`],
  ['the body without white space at its edges', BODY, `  ${BODY} \n\n`],
  ['the body with a line end after it', `${BODY}\n`],
  ['the body with CR LF for each LF', CRLF, INDENTED],
  ['the body with a byte order mark', `\ufeff${BODY}`],
  ['the body decoded as latin1 and encoded as UTF-8', AS_LATIN1],
  ['the body encoded as latin1', BODY, AS_LATIN1],
  [
    'the body with replacement characters for invalid UTF-8',
    '{"a":"\ufffd"}',
    Buffer.from('{"a":"\xff"}', 'latin1'),
  ],
  ['the text inside the body, which is a JSON string', BODY, JSON.stringify(BODY)],
  ['the same JSON without white space', BODY, INDENTED],
  ['the same JSON indented by two spaces', INDENTED],
  ['the same JSON with its names sorted', JSON.stringify(sorted(PARSED))],
  ['the same JSON with non-ASCII characters escaped', ascii(BODY)],
  ['the same JSON as PHP writes it', ascii(BODY).replaceAll('/', '\\/')],
  ['the same JSON as Python writes it', PYTHON, COMPACT],
  ['the same JSON as Python writes it with sorted names', PYTHON, '{"d":[],"c":{},"a":[1,{"b":"ë/"}]}'],
  ['the same JSON with a space after commas and colons', PYTHON.replace('\\u00eb', 'ë'), COMPACT],
])('another body is named: %s', async (what, signed, given = BODY) => {
  const finding = await found(hmac(dotted(signed)).digest('hex'), { body: Buffer.from(given) })
  expect(finding).toMatch(new RegExp(`^The signature matches ${what}\\. [A-Z].+\\.$`))
})

const LONGER_THAN_A_BLOCK = 'k'.repeat(100)

test.each<[what: string, signed: string | Uint8Array, given?: string]>([
  ['the secret with a line end after it', `${SECRET}\n`],
  ['the secret with a line end after it', `${LONGER_THAN_A_BLOCK}\n`, LONGER_THAN_A_BLOCK],
  ['the secret with a space after it', `${SECRET} `],
  ['the secret in double quotes', `"${SECRET}"`],
  ['the secret without its whsec_', SECRET.slice(6)],
  ['the secret with whsec_ before it', SECRET, SECRET.slice(6)],
  ['the secret decoded from base64', Buffer.from(SECRET.slice(6), 'base64')],
  ['the secret decoded from hex', Buffer.from('00ff7a', 'hex'), 'whsec_00ff7a'],
])('another secret is named: %s', async (what, signed, secret = SECRET) => {
  for (const algorithm of ['SHA-256', 'SHA-512'] as const) {
    const v1 = hmac(dotted(BODY), signed, algorithm.replace('-', '')).digest('hex')
    const finding = await found(v1, { secret, signature: { algorithm } })
    expect(finding).toMatch(new RegExp(`^The signature matches ${what}\\. [A-Z].+\\.$`))
  }
})

test.each<[string, Uint8Array, RegExp]>([
  ['empty', Buffer.of(), /^The body is empty/],
  ['compressed', Buffer.of(0x1f, 0x8b, 8), /^The body is compressed/],
  ['cut', Buffer.from(BODY.slice(0, -5)), /^The body is not valid JSON: is it complete/],
])('where nothing matches, a body that is %s is mentioned', async (_, body, finding) => {
  expect(await found(WRONG, { body })).toMatch(finding)
})

test.each([
  ['of GitHub', `sha256=${hmac(BODY).digest('hex')}`, 'The signature matches the body alone, without t.'],
  ['of GitHub, wrong', `sha256=${'0'.repeat(64)}`, 'form sha256=…, as from GitHub'],
  [
    'of Standard Webhooks',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
    'form v1,… of Standard Webhooks',
  ],
  ['with semicolons', `t=${T};v1=${RIGHT}`, 'The signature itself is right; the form'],
  ['without t', `v1=${hmac(BODY).digest('hex')}`, 'The signature matches the body alone'],
])('a malformed header is explained: %s', async (_, header, finding) => {
  expect(await diagnosed(header)).toMatchObject({
    valid: false,
    code: 'header_malformed',
    findings: expect.arrayContaining([expect.stringContaining(finding)]),
  })
})

test.each<[header: string, valid: boolean, code: string | undefined, finding: string]>([
  [`v0=${RIGHT}`, false, 'header_malformed', 'The signature in v0= is right, but only v1'],
  [`v0=${WRONG}`, false, 'header_malformed', 'The header has v0= and no v1, and only v1'],
  [`v1=${WRONG},v0=${RIGHT}`, false, 'signature_mismatch', 'The signature in v0='],
  [`v1=${RIGHT},v0=${WRONG}`, true, undefined, 'The header has v0= too, which is ignored'],
])('an unsupported scheme is named: %s', async (schemes, valid, code, finding) => {
  const diagnosis = await diagnosed(`t=${T},${schemes}`)
  expect(diagnosis).toMatchObject({ valid, ...(code && { code }) })
  expect(diagnosis.findings[0]).toContain(finding)
})

describe('a time that is not now', () => {
  const at = async (seconds: number, signature: SignatureOptions = {}) =>
    (await signedBody(BODY, { secret: SECRET, now: () => NOW + seconds * 1000, signature })).header

  test('is reported with its moment, to verify a stored delivery', async () => {
    const header = await at(-7200)
    const advice = '--received-at with the time of its t (2026-05-17T12:02:11.000Z), or --tolerance 0'
    expect(await diagnosed(header)).toMatchObject({
      valid: false,
      code: 'timestamp_too_old',
      findings: [expect.stringContaining(advice)],
    })
    for (const toleranceSeconds of [7200, 0]) {
      expect(await diagnosed(header, { toleranceSeconds })).toMatchObject({ valid: true, ageSeconds: 7200 })
    }
    expect(await diagnosed(await at(301))).toMatchObject({ code: 'timestamp_in_future' })
  })

  test.each([
    ['ms', 's', 'timestamp_in_future', 'milliseconds'],
    ['s', 'ms', 'timestamp_too_old', 'seconds'],
  ] as const)('may be in %s in place of %s', async (timestampUnit, expected, code, name) => {
    const header = await at(0, { timestampUnit })
    expect(await diagnosed(header, { signature: { timestampUnit: expected } })).toMatchObject({
      code,
      findings: [`Its t is in ${name}: set signature.timestampUnit to "${timestampUnit}", then it is valid.`],
    })
  })
})

test('a diagnosis never contains the secret or the body', async () => {
  const printable = fc
    .string({ minLength: 9, maxLength: 80 })
    .filter((text) => /^[!-~]{9,}$/.test(text))
    // Neither a placeholder nor in quotes, which are refused.
    .map((text) => `k3${text}k3`)
  await fc.assert(
    fc.asyncProperty(
      printable,
      fc.string({ unit: 'binary' }),
      fc.uint8Array(),
      async (secret, header, noise) => {
        const body = Buffer.concat([Buffer.from('"no seats left in row 7" '), noise])
        for (const given of [header, `t=${T},v1=${hmac(noise).digest('hex')}`]) {
          const told = JSON.stringify(await diagnose({ secret, header: given, body, now: () => NOW }))
          expect(told).not.toContain('no seats')
          if (!header.includes(secret)) expect(told).not.toContain(JSON.stringify(secret).slice(1, -1))
        }
      },
    ),
    { numRuns: runs(20) },
  )
})

const ALGORITHMS = [
  { what: '', value: 'sha256' },
  { what: 'HMAC-SHA512', value: 'sha512' },
]
const ENCODINGS = ['hex', 'base64'] as const

/** A secret as services make them, or as people do. */
const secrets = fc.oneof(
  fc
    .uint8Array({ minLength: 12, maxLength: 40 })
    .map((bytes) => `whsec_${Buffer.from(bytes).toString('base64')}`),
  fc.uint8Array({ minLength: 12, maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('hex')),
  fc.stringMatching(/^[a-z][a-z0-9_-]{6,70}[a-z0-9]$/),
)
const bodies = envelopes().map((envelope) => Buffer.from(JSON.stringify(envelope)))

/** One of a list, by a number that fast-check shrinks to the first. */
const picked = <Value>(list: readonly Value[], index: number): Value => list[index % list.length] as Value

test('the diagnosis names each of one or two differences', async () => {
  const index = fc.nat(1000)
  await fc.assert(
    fc.asyncProperty(
      fc.record({ secret: secrets, body: bodies, indices: fc.array(index, { minLength: 4, maxLength: 4 }) }),
      fc.constantFrom(...ENCODINGS),
      async ({ secret, body, indices: [a = 0, b = 0, c = 0, d = 0] }, encoding) => {
        const content = picked(
          [{ what: '', value: (_t: string, body: Uint8Array) => dotted(body) }, ...contentVariants({})],
          a,
        )
        const changed = picked(bodyVariants(body), b)
        const key = picked(secretVariants(secret), c)
        const algorithm = picked(ALGORITHMS, d)
        const whats = [content, changed, key, algorithm].map(({ what }) => what).filter((what) => what !== '')
        fc.pre(whats.length > 0 && whats.length <= 2)
        const v1 = createHmac(algorithm.value, key.value)
          .update(content.value(T, changed.value))
          .digest(encoding)
        const diagnosis = await diagnose({ secret, header: `t=${T},v1=${v1}`, body, now: () => NOW })
        expect(diagnosis).toMatchObject({ valid: false, code: 'signature_mismatch' })
        for (const what of whats) expect(diagnosis.findings[0]).toContain(what)
      },
    ),
    { numRuns: runs(25) },
  )
})
