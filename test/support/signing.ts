import fc from 'fast-check'
import type { HeaderValue, Secret, SignatureOptions } from 'tix-webhooks'
import { isPlaceholder } from '../../src/lib/placeholder.js'

const isUsable = (text: string): boolean =>
  text === text.trim() && !/^(["']).*\1$/s.test(text) && !isPlaceholder(text)

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

/** Secrets that a receiver takes: in the usual form, text, and bytes, some longer than a block of the hash. */
export const secrets: fc.Arbitrary<Secret> = fc.oneof(
  fc.base64String({ minLength: 4 }).map((text) => `whsec_${text}`),
  fc.string({ unit: 'grapheme', minLength: 1 }).filter(isUsable),
  fc.uint8Array({ minLength: 1, maxLength: 200, size: 'max' }).filter((bytes) => isUsable(latin1(bytes))),
)

/** Values of the option `signature`, most of them in part. */
export const signatureOptions: fc.Arbitrary<SignatureOptions> = fc.record(
  {
    header: fc.constantFrom('x-service-signature', 'Stripe-Signature', "x-!#$%&'*+^`|~.9"),
    algorithm: fc.constantFrom('SHA-256', 'SHA-512'),
    encoding: fc.constantFrom('hex', 'base64'),
    signedContent: fc.constantFrom<Required<SignatureOptions>['signedContent'][]>(
      'dot',
      'concat',
      (t, body) => Buffer.concat([body, Buffer.from(`|${t}`)]),
      (t, body) => Buffer.concat([Buffer.from(`v0:${t}:`), body]),
    ),
    timestampUnit: fc.constantFrom('s', 'ms'),
  },
  { requiredKeys: [], noNullPrototype: true },
)

/** Forms of a `t` that means the same time to a person or to a lenient parser: `$x` is it in hex, `$a` in Arabic digits. */
const TIMES = '|+$t|-$t| $t|$t.0|$te0|$ts|$t\n|$t\0|$t\u200b|$t;$t|"$t"|0x$x|$a|NaN|Infinity|null'

/** Forms of a `v1` that is almost right: in its length, its alphabet or its bytes. `$s` is it, and `$c` without its last character. */
const V1S = '|$s0|$c|$s$s|"$s"|=$s|$c!|$c $c|\0$s|$s\0|$s\r\nx-injected: 1|\u001b[2K$s|$s\u2028|\ufeff$s|é$c'

/** Forms of a header: `$h` is a valid one, `$v` its `v1`. Without a `t`, with two, without a `v1`, with other items or separators. */
const HEADERS =
  '$v|T=$t,$v|t =$t,$v|\u00a0t=$t,$v|ts=$t,$v|"t"=$t,$v|t=$t,$h|$h,t=$t|t=1,$h|$h,t=1|t=,$h|$h,$h|t=$t|t=$t,v0=$s|t=$t,V1=$s|t=$t,v1 =$s|t=$t,v11=$s|t=$t,sha256=$s|t=$t,"v1"=$s|$h,|,$h|t=$t,,$v|t=$t, ,$v|t=$t;$v|t=$t $v|t=$t\n$v|t:$t,$v|$h,x|x,$h|$h,=x|"$h"|\0$h|\r\n$h|\ufeff$h|t=0$t,$v|t=1,$v|sha256=$s|v1,$s|Bearer $s'

/** Headers that must be refused, though each is made of this valid one, `t=…,v1=…`. */
export function hostileForms(header: string): string[] {
  const [, t = '', s = ''] = /^t=(\d+),v1=(.*)$/.exec(header) ?? []
  const marks: Readonly<Record<string, string>> = {
    h: header,
    t,
    s,
    v: `v1=${s}`,
    c: s.slice(0, -1),
    x: Number(t).toString(16),
    a: t.replaceAll(/\d/g, (digit) => String.fromCodePoint(0x0660 + Number(digit))),
  }
  return [
    ...TIMES.split('|').map((time) => `t=${time},$v`),
    ...V1S.split('|').map((v1) => `t=$t,v1=${v1}`),
    ...HEADERS.split('|'),
    `$h,x=${'x'.repeat(4096)}`,
    `$h${',$v'.repeat(16)}`,
  ].map((form) => form.replaceAll(/\$([a-z])/g, (_, mark: string) => marks[mark] ?? ''))
}

/** Headers of strangers: none of them is authentic. */
export const strangeHeaders: fc.Arbitrary<HeaderValue> = fc.oneof(
  fc.constantFrom<HeaderValue[]>('', undefined, null, [], [''], `t=1747490531,v1=${'0'.repeat(64)}`),
  fc
    .tuple(fc.nat(2 ** 32), fc.string({ unit: 'binary' }))
    .chain(([t, v1]) => fc.constantFrom(...hostileForms(`t=${t},v1=${v1}`))),
  fc.array(fc.string({ unit: 'binary' })),
)
