import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import type { SignatureOptions } from 'tix-webhooks'
import { sampleEvent, signedBody } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { runs } from '../../../test/support/runs.js'
import { type DiagnoseOptions, diagnose } from '../../diagnose/diagnose.js'

const NOW = Date.UTC(2026, 4, 17, 14, 2, 11)
const T = String(NOW / 1000)
const SECRET = 'whsec_dGlja2V0cyBmb3IgYWxs'
const BODY = JSON.stringify({
  ...sampleEvent('event.published', { seed: 1, data: { event: { title: 'Zoë' } } }),
  a: '/',
})

/** The signature of the other side: its own HMAC, of the key and the content that it uses. */
function hmac(
  content: string | Uint8Array,
  { key = SECRET, hash = 'sha256' }: { key?: string | Uint8Array; hash?: string } = {},
) {
  return createHmac(hash, key).update(content)
}

const dotted = (body: string | Uint8Array): Buffer => Buffer.concat([Buffer.from(`${T}.`), Buffer.from(body)])

function diagnosed(v1: string, options: Partial<DiagnoseOptions> = {}) {
  return diagnose({
    secret: SECRET,
    header: `t=${T},v1=${v1}`,
    body: Buffer.from(BODY),
    now: () => NOW,
    ...options,
  })
}

/** The first finding, of a diagnosis that must be a mismatch. */
async function found(v1: string, options: Partial<DiagnoseOptions> = {}): Promise<string | undefined> {
  const diagnosis = await diagnosed(v1, options)
  if (diagnosis.valid) throw new Error('It is valid.')
  expect(diagnosis.code).toBe('signature_mismatch')
  return diagnosis.findings[0]
}

describe('a delivery that is valid', () => {
  test('is so, with its time and its age', async () => {
    const { header } = await signedBody(BODY, { secret: SECRET, now: () => NOW - 7000 })
    expect(await diagnosed('', { header })).toEqual({
      valid: true,
      signedAt: new Date(NOW - 7000),
      ageSeconds: 7,
      findings: [],
    })
  })

  test.each<[string, SignatureOptions]>([
    [
      'SHA-512 in base64, of milliseconds, without a dot',
      { algorithm: 'SHA-512', encoding: 'base64', signedContent: 'concat', timestampUnit: 'ms' },
    ],
    ['the body alone', { signedContent: (_t, body) => body }],
    ['another header', { header: 'X-Other' }],
  ])('is so by the options too: %s', async (_, signature) => {
    const { header } = await signedBody(BODY, { secret: SECRET, now: () => NOW, signature })
    expect(await diagnosed('', { header, signature })).toMatchObject({ valid: true, ageSeconds: 0 })
  })

  test.each<[string, (header: string) => string, RegExp | undefined]>([
    [
      'with its name',
      (header) => `X-Service-Signature: ${header}`,
      /given with its name.*"X-Service-Signature:"/,
    ],
    [
      'with another name',
      (header) => `x-signature: ${header}`,
      /the name x-signature, but the signature is in x-service-signature/,
    ],
    ['in quotes', (header) => `"${header}"`, /in quotes/],
    ['with a line end', (header) => `${header}\r\n`, undefined],
  ])('is so where the header was given %s', async (_, spoil, finding) => {
    const { header } = await signedBody(BODY, { secret: SECRET, now: () => NOW })
    const diagnosis = await diagnosed('', { header: spoil(header) })
    expect(diagnosis.valid).toBe(true)
    if (finding === undefined) expect(diagnosis.findings).toEqual([])
    else expect(diagnosis.findings).toEqual([expect.stringMatching(finding)])
  })
})

describe('what was signed is named:', () => {
  test.each<[string, string | Uint8Array, RegExp]>([
    [
      't + body',
      `${T}${BODY}`,
      /^The signature matches t \+ body, without the dot\. Set signature\.signedContent to "concat"/,
    ],
    ['the body alone', BODY, /^The signature matches the body alone, without t\. .*\(t, body\) => body/],
    [
      't in milliseconds',
      `${T}000.${BODY}`,
      /^The signature matches t in milliseconds .* where the header has seconds\./,
    ],
  ])('%s', async (_, content, finding) => {
    expect(await found(hmac(content).digest('hex'))).toMatch(finding)
  })
})

describe('how the signature is written is named:', () => {
  test.each<[string, 'base64' | 'base64url' | 'hex', SignatureOptions, RegExp]>([
    [
      'base64',
      'base64',
      {},
      /^The signature matches base64 in place of hex\. Set signature\.encoding to "base64"\.$/,
    ],
    ['base64url', 'base64url', {}, /^The signature matches base64url in place of hex\. .*\+, \//],
    ['hex', 'hex', { encoding: 'base64' }, /^The signature matches hex in place of base64\./],
  ])('%s', async (_, encoding, signature, finding) => {
    expect(await found(hmac(dotted(BODY)).digest(encoding), { signature })).toMatch(finding)
  })
})

describe('the hash is named:', () => {
  test.each([
    ['md5', 'MD5'],
    ['sha1', 'SHA-1'],
    ['sha224', 'SHA-224'],
    ['sha384', 'SHA-384'],
  ])('%s, by the length alone', async (hash, name) => {
    for (const encoding of ['hex', 'base64'] as const) {
      expect(await found(hmac(dotted(BODY), { hash }).digest(encoding))).toMatch(
        `The signature has the length of ${name}, which is not supported`,
      )
    }
  })
})

const sorted = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sorted)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .map(([name, one]) => [name, sorted(one)]),
        )
      : value
const ascii = (text: string): string =>
  text.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
const PARSED: unknown = JSON.parse(BODY)
const CRLF = JSON.stringify(PARSED, null, 2).replaceAll('\n', '\r\n')
const PYTHON = '{"a": [1, {"b": "\\u00eb/"}], "c": {}, "d": []}'

describe('what the body was is named:', () => {
  test.each<[string, { given?: string | Uint8Array; signed: string | Uint8Array }, string]>([
    [
      'without the line end that was added',
      { given: `${BODY}\n`, signed: BODY },
      'the body without the line end at its end',
    ],
    [
      'without CR LF that was added',
      { given: `${BODY}\r\n`, signed: BODY },
      'the body without the line end at its end',
    ],
    [
      'without white space around it',
      { given: `  ${BODY} \n\n`, signed: BODY },
      'the body without white space at its edges',
    ],
    ['with a line end that was cut off', { signed: `${BODY}\n` }, 'the body with a line end after it'],
    ['with CR LF that was cut off', { signed: `${BODY}\r\n` }, 'the body with CR LF after it'],
    ['with LF', { given: CRLF, signed: CRLF.replaceAll('\r', '') }, 'the body with LF for each CR LF'],
    ['with CR LF', { given: CRLF.replaceAll('\r', ''), signed: CRLF }, 'the body with CR LF for each LF'],
    ['with a byte order mark', { signed: `\ufeff${BODY}` }, 'the body with a byte order mark'],
    ['without one', { given: `\ufeff${BODY}`, signed: BODY }, 'the body without its byte order mark'],
    [
      'read as latin1',
      { signed: Buffer.from(Buffer.from(BODY).toString('latin1')) },
      'the body decoded as latin1 and encoded as UTF-8',
    ],
    [
      'not yet read as latin1',
      { given: Buffer.from(Buffer.from(BODY).toString('latin1')), signed: BODY },
      'the body encoded as latin1',
    ],
    [
      'read as UTF-8',
      { given: Buffer.from('{"a":"\xff"}', 'latin1'), signed: '{"a":"\ufffd"}' },
      'the body with replacement characters for invalid UTF-8',
    ],
    [
      'written as JSON twice',
      { given: JSON.stringify(BODY), signed: BODY },
      'the text inside the body, which is a JSON string',
    ],
    [
      'compact',
      { given: JSON.stringify(PARSED, null, 2), signed: BODY },
      'the same JSON without white space',
    ],
    ['indented by 2', { signed: JSON.stringify(PARSED, null, 2) }, 'the same JSON indented by two spaces'],
    ['indented by 4', { signed: JSON.stringify(PARSED, null, 4) }, 'the same JSON indented by four spaces'],
    ['indented by tabs', { signed: JSON.stringify(PARSED, null, '\t') }, 'the same JSON indented by tabs'],
    ['sorted', { signed: JSON.stringify(sorted(PARSED)) }, 'the same JSON with its names sorted'],
    ['escaped', { signed: ascii(BODY) }, 'the same JSON with non-ASCII characters escaped'],
    ['of PHP', { signed: ascii(BODY).replaceAll('/', '\\/') }, 'the same JSON as PHP writes it'],
    [
      'of Python',
      { given: JSON.stringify(JSON.parse(PYTHON)), signed: PYTHON },
      'the same JSON as Python writes it',
    ],
    [
      'of Python, sorted',
      { given: '{"d":[],"c":{},"a":[1,{"b":"ë/"}]}', signed: PYTHON },
      'the same JSON as Python writes it with sorted names',
    ],
    [
      'with blanks',
      { given: JSON.stringify(JSON.parse(PYTHON)), signed: PYTHON.replace('\\u00eb', 'ë') },
      'the same JSON with a space after commas and colons',
    ],
  ])('%s', async (_, { given = BODY, signed }, what) => {
    const finding = await found(hmac(dotted(signed)).digest('hex'), { body: Buffer.from(given) })
    expect(finding).toMatch(new RegExp(`^The signature matches ${what}\\. [A-Z].+\\.$`))
  })
})

describe('what the secret was is named:', () => {
  test.each<[string, { given?: string; signed: string | Uint8Array }, string]>([
    ['with a line end', { signed: `${SECRET}\n` }, 'the secret with a line end after it'],
    ['with CR LF', { signed: `${SECRET}\r\n` }, 'the secret with CR LF after it'],
    ['with a blank after it', { signed: `${SECRET} ` }, 'the secret with a space after it'],
    ['with a blank before it', { signed: ` ${SECRET}` }, 'the secret with a space before it'],
    ['in double quotes', { signed: `"${SECRET}"` }, 'the secret in double quotes'],
    ['in single quotes', { signed: `'${SECRET}'` }, 'the secret in single quotes'],
    ['without whsec_', { signed: SECRET.slice(6) }, 'the secret without its whsec_'],
    ['with whsec_', { given: SECRET.slice(6), signed: SECRET }, 'the secret with whsec_ before it'],
    [
      'decoded from base64',
      { signed: Buffer.from(SECRET.slice(6), 'base64') },
      'the secret decoded from base64',
    ],
    [
      'decoded from hex',
      { given: 'whsec_00ff7a', signed: Buffer.from('00ff7a', 'hex') },
      'the secret decoded from hex',
    ],
    [
      'with a line end, and longer than a block of the hash',
      { given: 'k'.repeat(100), signed: `${'k'.repeat(100)}\n` },
      'the secret with a line end after it',
    ],
  ])('%s', async (_, { given = SECRET, signed }, what) => {
    for (const hash of ['sha256', 'sha512']) {
      const signature = { algorithm: hash === 'sha256' ? 'SHA-256' : 'SHA-512' } as const
      const v1 = hmac(dotted(BODY), { key: signed, hash }).digest('hex')
      const finding = await found(v1, { secret: given, signature })
      expect(finding).toMatch(new RegExp(`^The signature matches ${what}\\. [A-Z].+\\.$`))
    }
  })

  test('also where the one that is given is unusable, as the receiver says', async () => {
    const v1 = hmac(dotted(BODY)).digest('hex')
    expect(await diagnosed(v1, { secret: `${SECRET}\n` })).toEqual({
      valid: false,
      code: 'secret_unusable',
      reason: 'The secret begins or ends with white space, which the receiver refuses: trim it.',
      findings: ['The signature matches the secret without white space at its edges. Trim it.'],
    })
    expect(await diagnosed(v1, { secret: `'${SECRET}'` })).toMatchObject({
      code: 'secret_unusable',
      reason: 'The secret is in quotes, which the receiver refuses: remove them.',
      findings: [expect.stringMatching(/^The signature matches the secret without its quotes\./)],
    })
    expect(await diagnosed(v1, { secret: ' ' })).toMatchObject({ code: 'secret_unusable', findings: [] })
    expect(await diagnosed(v1, { secret: '' })).toMatchObject({
      reason: expect.stringMatching(/^The secret is empty/),
    })
  })
})

describe('where nothing matches', () => {
  const wrong = hmac('something else').digest('hex')

  test.each<[string, Uint8Array, RegExp]>([
    ['empty', Buffer.of(), /^The body is empty/],
    ['compressed', Buffer.of(0x1f, 0x8b, 8), /^The body is compressed/],
    ['cut', Buffer.from(BODY.slice(0, -5)), /^The body is not valid JSON: is it complete/],
  ])('a body that is %s is mentioned', async (_, body, finding) => {
    expect(await found(wrong, { body })).toMatch(finding)
  })
})

describe('a header that is of no use', () => {
  test.each<[string, string, string, RegExp]>([
    ['empty', '', 'header_missing', /./],
    [
      'of GitHub',
      `sha256=${hmac(BODY).digest('hex')}`,
      'header_malformed',
      /^The signature matches the body alone, without t\./,
    ],
    [
      'of GitHub, for another secret',
      `sha256=${'0'.repeat(64)}`,
      'header_malformed',
      /form sha256=…, as from GitHub/,
    ],
    [
      'of Standard Webhooks',
      'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
      'header_malformed',
      /form v1,… of Standard Webhooks/,
    ],
    [
      'a signature alone',
      hmac(dotted(BODY)).digest('hex'),
      'header_malformed',
      /a bare signature: t= and v1= are missing/,
    ],
    [
      'separated by semicolons',
      `t=${T};v1=${hmac(dotted(BODY)).digest('hex')}`,
      'header_malformed',
      /^The signature itself is right; the form/,
    ],
    [
      'separated by blanks',
      `t=${T} v1=${hmac(dotted(BODY)).digest('hex')}`,
      'header_malformed',
      /separated by commas/,
    ],
    [
      'without a t',
      `v1=${hmac(BODY).digest('hex')}`,
      'header_malformed',
      /^The signature matches the body alone/,
    ],
  ])('%s', async (_, header, code, finding) => {
    const diagnosis = await diagnosed('', { header })
    expect(diagnosis).toMatchObject({ valid: false, code })
    if (header !== '') expect(diagnosis.findings.join('\n')).toMatch(new RegExp(finding.source, 'm'))
  })
})

describe('a scheme that is not accepted is named', () => {
  const right = hmac(dotted(BODY)).digest('hex')
  const wrong = hmac('another').digest('hex')
  test.each<[string, string, string | undefined, string]>([
    [
      'alone and right',
      `t=${T},v0=${right}`,
      'header_malformed',
      'The signature in v0= is right, but only v1',
    ],
    [
      'alone and wrong',
      `t=${T},v0=${wrong}`,
      'header_malformed',
      'The header has v0= and no v1, and only v1',
    ],
    [
      'right beside a wrong v1',
      `t=${T},v1=${wrong},v0=${right}`,
      'signature_mismatch',
      'The signature in v0=',
    ],
    [
      'wrong, as v1 is',
      `t=${T},v1=${wrong},v0=${wrong}`,
      'signature_mismatch',
      'The header has v0= too, which',
    ],
    [
      'beside a right v1',
      `t=${T},v1=${right},v0=${wrong}`,
      undefined,
      'The header has v0= too, which is ignored',
    ],
    ['of another number', `t=${T},v2=${right}`, 'header_malformed', 'The signature in v2= is right'],
  ])('%s', async (_, header, code, finding) => {
    const diagnosis = await diagnosed('', { header })
    expect(diagnosis).toMatchObject({ valid: code === undefined, ...(code && { code }) })
    expect(diagnosis.findings[0]).toContain(finding)
  })
})

describe('a time that is not now', () => {
  const at = (seconds: number, signature: SignatureOptions = {}) =>
    signedBody(BODY, { secret: SECRET, now: () => NOW + seconds * 1000, signature })

  test('is reported with its moment, to verify a stored delivery', async () => {
    const { header } = await at(-7200)
    expect(await diagnosed('', { header })).toMatchObject({
      valid: false,
      code: 'timestamp_too_old',
      findings: [
        expect.stringContaining(
          '--received-at with the time of its t (2026-05-17T12:02:11.000Z), or --tolerance 0',
        ),
      ],
    })
    expect(await diagnosed('', { header, toleranceSeconds: 7200 })).toMatchObject({
      valid: true,
      ageSeconds: 7200,
    })
    expect(await diagnosed('', { header, toleranceSeconds: 0 })).toMatchObject({
      valid: true,
      ageSeconds: 7200,
    })
    expect(await diagnosed('', { header: (await at(301)).header })).toMatchObject({
      code: 'timestamp_in_future',
    })
  })

  test('may count in the other unit', async () => {
    const milliseconds = await at(0, { timestampUnit: 'ms' })
    expect(await diagnosed('', { header: milliseconds.header })).toMatchObject({
      code: 'timestamp_in_future',
      findings: ['Its t is in milliseconds: set signature.timestampUnit to "ms", then it is valid.'],
    })
    const seconds = await at(0)
    expect(await diagnosed('', { header: seconds.header, signature: { timestampUnit: 'ms' } })).toMatchObject(
      {
        code: 'timestamp_too_old',
        findings: ['Its t is in seconds: set signature.timestampUnit to "s", then it is valid.'],
      },
    )
  })
})

test('invalid options are refused as the receiver refuses them', async () => {
  await expect(diagnosed('00', { toleranceSeconds: -1 })).rejects.toThrow(/^toleranceSeconds must be/)
  await expect(diagnosed('00', { signature: { algorithm: 'MD5' as 'SHA-256' } })).rejects.toThrow(
    /^signature\.algorithm/,
  )
})

test('a diagnosis never contains the secret or the body', {
  tags: ['slow'],
}, async () => {
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
