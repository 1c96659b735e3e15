import * as fc from 'fast-check'
import type { HeaderValue } from '../../src/index.js'
import { MAX_HEADER_LENGTH, MAX_SIGNATURES } from '../../src/internal.js'
import {
  checkHeaderOptions,
  digits,
  type HeaderOptions,
  type HeaderParts,
  headerParts,
  signatures,
  written,
} from './header-parts.js'
import { joined, jsonTexts, texts } from './json.js'

/** The most signatures; headers with too many are made apart. */
const FEW = 3

/** Forms of a `t` that means the same time to a person or to a lenient parser: `$x` is it in hex, `$a` in Arabic and `$f` in full-width digits. */
const TIMES = '|+$t|-$t| $t|$t.0|$te0|$ts|$t\n|$t\0|$t\u200b|$t;$t|"$t"|0x$x|$a|$f|NaN|Infinity|null'.split(
  '|',
)

/** Forms of a header: `$h` is a valid one, `$t` its time, `$o` another one, and `$v` its signatures. */
const FORMS = [
  ...TIMES.map((time) => `t=${time},$v`),
  // Without t.
  ...'$v|T=$t,$v|t =$t,$v|\u00a0t=$t,$v|ts=$t,$v|"t"=$t,$v'.split('|'),
  // With two.
  ...'t=$t,$h|$h,t=$t|t=$o,$h|$h,t=$o|t=,$h'.split('|'),
  // With items that are none, or separated by something else.
  ...'$h,|,$h|t=$t,,$v|t=$t, ,$v|t=$t;$v|t=$t $v|t=$t\n$v|t:$t,$v|$h,x|x,$h|$h,=x|"$h"'.split('|'),
  ...'\0$h|\r\n$h|\ufeff$h'.split('|'),
]

/** Names that are not `v1`. */
const NOT_V1 = 'v0|V1|v2|v1 |v|v11|sha256|"v1"'.split('|')

/** Signatures that are almost right: each differs from `$s` in its length, its alphabet or its bytes. */
const SIGNATURES: readonly ((text: string) => string)[] = [
  ...'|$s0|$s$s|"$s"|=$s|\0$s|$s\0|$s\r\nx-injected: 1|\u001b[2K$s|$s\u2028|\ufeff$s'
    .split('|')
    .map((form) => (text: string) => filled(form, { s: text })),
  (text) => text.slice(0, -1),
  (text) => text.slice(1),
  (text) => `${text.slice(0, -1)}!`,
  (text) => 'é'.repeat(text.length),
  (text) => `${text.slice(0, 1)} ${text.slice(1)}`,
  (text) => `${text.startsWith('0') ? '1' : '0'}${text.slice(1)}`,
]

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
  const headers = fc.oneof(
    fc.constantFrom<HeaderValue[]>('', undefined, null, [], ['']),
    otherForms(),
    listed(fc.tuple(parts, fc.constantFrom(...FORMS)).map(([made, form]) => formOf(form, made))),
    fc
      .tuple(parts, fc.constantFrom('', ...NOT_V1))
      .map(([{ t, signatures: all }, name]) =>
        [`t=${t}`, ...(name === '' ? [] : all).map((one) => `${name}=${one}`)].join(','),
      ),
    fc
      .tuple(parts, fc.constantFrom(...SIGNATURES))
      .map(([{ t, signatures: all }, change]) => written({ t, signatures: all.map(change) })),
    fc
      .tuple(parts, digits(14), fc.integer({ min: 1, max: 40 }))
      .map(([made, t, times]) => written({ ...made, t: otherDigits(t.repeat(times), made.t) })),
    fc
      .tuple(parts, fc.integer({ min: 1, max: 3000 }))
      .map(([made, more]) => `${written(made)},x=`.padEnd(MAX_HEADER_LENGTH, 'x') + 'x'.repeat(more)),
    listed(
      fc
        .tuple(parts, fc.array(signatures(), { minLength: MAX_SIGNATURES, maxLength: 40 }))
        .map(([made, more]) => written({ ...made, signatures: [...made.signatures, ...more] })),
    ),
  )
  return options.sendable ? headers.filter(isSendable) : headers
}

function isSendable(header: HeaderValue): boolean {
  return typeof header === 'string' && /^[\t\x20-\x7e]*$/.test(header)
}

/** As they are, or as the list of their items. */
function listed(headers: fc.Arbitrary<string>): fc.Arbitrary<HeaderValue> {
  return fc.tuple(headers, fc.boolean()).map(([header, isList]) => (isList ? header.split(',') : header))
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
    fc
      .tuple(fc.constantFrom('Bearer ', 'sha256=', 'v1,', ''), signatures())
      .map(([before, signature]) => `${before}${signature}`),
    joined(fc.constantFrom(',', '=', ' ', 't', 'v1', ';'), { minLength: 1 }),
    fc.array(item).map((items) => items.join(',')),
  )
}

function formOf(form: string, parts: HeaderParts): string {
  const { t } = parts
  const header = written(parts)
  const inScript = (zero: number): string =>
    Array.from(t, (digit) => String.fromCodePoint(zero + Number(digit))).join('')
  return filled(form, {
    h: header,
    t,
    o: otherDigits('1', t),
    v: header.slice(header.indexOf(',') + 1),
    x: Number(t).toString(16),
    a: inScript(0x0660),
    f: inScript(0xff10),
  })
}

/** A form with what its marks stand for. */
function filled(form: string, parts: Readonly<Record<string, string>>): string {
  return form.replaceAll(/\$([a-z])/g, (_, mark: string) => parts[mark] ?? '')
}

/** The digits, or others if they would give the same header. */
function otherDigits(text: string, t: string): string {
  return text === t ? `0${text}` : text
}
