import * as fc from 'fast-check'
import type { HeaderValue } from '../../src/index.js'
import { MAX_HEADER_LENGTH, MAX_SIGNATURES } from '../../src/internal.js'
import {
  checkHeaderOptions,
  contents,
  digits,
  type HeaderOptions,
  type HeaderParts,
  headerParts,
  signatures,
  written,
} from './header-parts.js'
import { joined, jsonTexts, texts } from './json.js'

const ARABIC_ZERO = 0x0660
const FULL_WIDTH_ZERO = 0xff10

/** The most signatures; headers with too many are made apart. */
const FEW = 3

/**
 * Signature headers that must be refused, each with a `WebhookVerificationError`: missing, without `t` or `v1`, with two `t`, with
 * a `t` that is not digits, too long, with too many signatures, with control characters, in another service's form, or with a
 * changed `t` or signature.
 *
 * @param options `of`: the headers are made from that one, so many contain its valid signature and are refused for their form alone.
 * `sendable`: only strings that an HTTP client can send
 * @throws TypeError when `of` is not a header from `signPayload`
 * @example
 * ```ts
 * import * as fc from 'fast-check'
 * import { tixWebhooks } from 'tix-webhooks/fetch'
 * import { signedDelivery } from 'tix-webhooks/testing'
 * import { hostileHeaders } from 'tix-webhooks/testing/fast-check'
 *
 * const secret = 'whsec_test'
 * const POST = tixWebhooks({ secret, on: { 'order.created': () => {} }, onError: () => {} })
 * const delivery = await signedDelivery('order.created', { secret })
 *
 * await fc.assert(
 *   fc.asyncProperty(hostileHeaders({ of: delivery.header, sendable: true }), async (header) => {
 *     const request = delivery.toRequest('/hooks')
 *     request.headers.set('x-service-signature', header)
 *     return [400, 401].includes((await POST(request)).status)
 *   }),
 * )
 * ```
 */
export function hostileHeaders(options: HeaderOptions & { sendable: true }): fc.Arbitrary<string>
export function hostileHeaders(options?: HeaderOptions): fc.Arbitrary<HeaderValue>
export function hostileHeaders(options: HeaderOptions = {}): fc.Arbitrary<HeaderValue> {
  checkHeaderOptions(options)
  const parts = headerParts(options, FEW)
  const from = (forms: (parts: HeaderParts) => readonly HeaderValue[]): fc.Arbitrary<HeaderValue> =>
    fc.tuple(parts, fc.nat(999)).map(([made, which]) => {
      const all = forms(made)
      return all[which % all.length]
    })

  const headers = fc.oneof(
    fc.constantFrom<HeaderValue[]>('', undefined, null, [], ['']),
    otherForms(),
    from(withoutT),
    from(withoutV1),
    from(withTTwice),
    from(withoutDigits),
    from(withBrokenItems),
    from(withControls),
    from(withOtherSignatures),
    fc
      .tuple(parts, digits(14), fc.integer({ min: 1, max: 40 }))
      .map(([made, t, times]) => written({ ...made, t: otherDigits(t.repeat(times), made.t) })),
    fc.tuple(parts, fc.integer({ min: 1, max: 3000 })).map(([made, more]) => tooLong(written(made), more)),
    tooMany(parts),
  )
  return options.sendable ? headers.filter(isSendable) : headers
}

function isSendable(header: HeaderValue): boolean {
  return typeof header === 'string' && /^[\t\x20-\x7e]*$/.test(header)
}

/** Headers of other services, and random text. */
function otherForms(): fc.Arbitrary<string> {
  const item = fc.oneof(
    fc.nat().map((t) => `t=${t}`),
    signatures().map((signature) => `v1=${signature}`),
    fc.tuple(texts(), jsonTexts()).map(([name, content]) => `${name}=${content}`),
    jsonTexts(),
  )
  return fc.oneof(
    jsonTexts(),
    contents().map((token) => `Bearer ${token}`),
    signatures().map((signature) => `sha256=${signature}`),
    signatures().map((signature) => `v1,${signature}`),
    signatures(),
    joined(fc.constantFrom(',', '=', ' ', 't', 'v1', ';'), { minLength: 1 }),
    fc.array(item).map((items) => items.join(',')),
  )
}

function withoutT({ t, signatures: all }: HeaderParts): string[] {
  const [, ...items] = written({ t, signatures: all }).split(',')
  const rest = items.join(',')
  return [
    rest,
    `T=${t},${rest}`,
    `t =${t},${rest}`,
    `\u00a0t=${t},${rest}`,
    `ts=${t},${rest}`,
    `"t"=${t},${rest}`,
  ]
}

function withoutV1({ t, signatures: all }: HeaderParts): string[] {
  const renamed = (name: string): string => [`t=${t}`, ...all.map((one) => `${name}=${one}`)].join(',')
  return [`t=${t}`, ...['v0', 'V1', 'v2', 'v1 ', 'v', 'v11', 'sha256', '"v1"'].map(renamed)]
}

function withTTwice(parts: HeaderParts): HeaderValue[] {
  const header = written(parts)
  const other = `t=${otherDigits('1', parts.t)}`
  return [
    `t=${parts.t},${header}`,
    `${header},t=${parts.t}`,
    `${other},${header}`,
    `${header},${other}`,
    `t=,${header}`,
    [header, header],
    [other, header],
  ]
}

/** A `t` that means the same time to a person or to a lenient parser. */
function withoutDigits({ t, signatures: all }: HeaderParts): string[] {
  const inScript = (zero: number): string =>
    Array.from(t, (digit) => String.fromCodePoint(zero + Number(digit))).join('')
  return [
    '',
    `+${t}`,
    `-${t}`,
    ` ${t}`,
    `${t}.0`,
    `${t}e0`,
    `${t}s`,
    `${t}\n`,
    `${t}\u0000`,
    `${t}\u200b`,
    `${t};${t}`,
    `"${t}"`,
    `0x${Number(t).toString(16)}`,
    inScript(ARABIC_ZERO),
    inScript(FULL_WIDTH_ZERO),
    'NaN',
    'Infinity',
    'null',
  ].map((text) => written({ t: text, signatures: all }))
}

function withBrokenItems(parts: HeaderParts): HeaderValue[] {
  const header = written(parts)
  return [
    `${header},`,
    `,${header}`,
    header.replace(',', ',,'),
    header.replace(',', ', ,'),
    header.replaceAll(',', ';'),
    header.replaceAll(',', ' '),
    header.replaceAll(',', '\n'),
    header.replaceAll('=', ':'),
    `${header},x`,
    `${header},=x`,
    `"${header}"`,
    [header, ''],
    ['x', header],
  ]
}

function withControls({ t, signatures: all }: HeaderParts): string[] {
  const header = written({ t, signatures: all })
  const around = (before: string, after: string): string =>
    written({ t, signatures: all.map((signature) => `${before}${signature}${after}`) })
  return [
    around('\u0000', ''),
    around('', '\u0000'),
    around('', '\r\nx-injected: 1'),
    around('\u001b[2K', ''),
    around('', '\u2028'),
    around('\ufeff', ''),
    `\u0000${header}`,
    `\r\n${header}`,
    `\ufeff${header}`,
  ]
}

/** Well-formed headers with signatures that are almost right: each differs in its length, its alphabet or its bytes. */
function withOtherSignatures({ t, signatures: all }: HeaderParts): string[] {
  return [
    () => '',
    (text: string) => `${text}0`,
    (text: string) => text.slice(0, -1),
    (text: string) => text.slice(1),
    (text: string) => `${text}${text}`,
    (text: string) => `"${text}"`,
    (text: string) => `${text.slice(0, -1)}!`,
    (text: string) => 'é'.repeat(text.length),
    (text: string) => `=${text}`,
    (text: string) => `${text.slice(0, 1)} ${text.slice(1)}`,
    (text: string) => `${text.startsWith('0') ? '1' : '0'}${text.slice(1)}`,
  ].map((change) => written({ t, signatures: all.map(change) }))
}

function tooLong(header: string, more: number): string {
  return `${header},x=`.padEnd(MAX_HEADER_LENGTH, 'x') + 'x'.repeat(more)
}

function tooMany(parts: fc.Arbitrary<HeaderParts>): fc.Arbitrary<HeaderValue> {
  return fc
    .tuple(parts, fc.array(signatures(), { minLength: MAX_SIGNATURES, maxLength: 40 }), fc.boolean())
    .map(([made, more, isList]) => {
      const header = written({ ...made, signatures: [...made.signatures, ...more] })
      return isList ? header.split(',') : header
    })
}

/** The digits, or others if they would give the same header. */
function otherDigits(text: string, t: string): string {
  return text === t ? `0${text}` : text
}
