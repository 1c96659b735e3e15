import { sampleEvent } from '../deliveries/sample-event.js'
import { type AdapterCase, test } from './adapter-case.js'
import { signed, signedOrder, withBody, withHeaders } from './case-deliveries.js'
import type { AdapterCaseRunner } from './case-runner.js'

const utf8 = new TextEncoder()
const BYTE_ORDER_MARK = Uint8Array.of(0xef, 0xbb, 0xbf)
const REPLACEMENT_CHARACTER = '�'

/** Spacing, escapes, line ends and numbers that are lost when JSON is parsed and serialised. */
const ODD_JSON = [
  '{',
  '\t"data" :  { "tickets": [ { "tier":"caf\\u00e9 café \\/ \\ud83c\\udf9f", "id":"tik_1" } ],\r',
  '    "order": {"buyer_email":"b@example.com","total_cents": 54.00e2 , "id": "ord_odd" } },',
  '  "created_at":"2026-05-17T14:02:11Z",   "type": "order.created", "rate": 1.0, "big": 12345678901234567890',
  '}\r\n\r\n',
].join('\n')

/** Names that some parsers refuse, or treat specially. */
const ODD_NAMES = `{"__proto__":{"a":1},"constructor":{"prototype":{"b":2}},${JSON.stringify(order()).slice(1)}`

/** Composed and combined accents, text in both directions, and characters outside of the basic plane. */
const ODD_TEXT = 'Zo\u00eb Zoe\u0308 – 東京 – العربية – 🎟\u{1f469}\u200d\u{1f467} – \u2028\u2029\u0000'

/** Content types that a sender may give, whatever the body is. */
const CONTENT_TYPES: readonly (readonly [id: string, label: string, contentType: string | undefined])[] = [
  ['text', 'of text', 'text/plain; charset=iso-8859-1'],
  ['form', 'of a form', 'application/x-www-form-urlencoded'],
  ['multipart', 'of a form in parts', 'multipart/form-data; boundary=none'],
  ['binary', 'of bytes', 'application/octet-stream'],
  ['unknown', 'that is unknown', 'application/vnd.tickets+json; charset=utf-16'],
  ['nonsense', 'that is invalid', ';;;'],
  ['none', 'that is missing', undefined],
]

/** The bytes of a body, and its content type. */
export const bodyCases: readonly AdapterCase[] = [
  test(
    'body-spacing: MUST pass on the exact bytes, whatever the spacing, escapes and line ends.',
    caseOf('JSON with odd spacing and escapes', ODD_JSON),
  ),

  test(
    'body-text: MUST pass on text of any script byte for byte.',
    caseOf('JSON with text of many scripts', JSON.stringify({ ...order(), note: ODD_TEXT })),
  ),

  test(
    'body-names: MUST leave the JSON to the receiver, so that no name in it is refused or dropped.',
    caseOf('JSON with names such as __proto__', ODD_NAMES),
  ),

  test(
    'body-mark: MUST pass on a byte order mark, which is part of the signed bytes.',
    caseOf('JSON after a byte order mark', marked(utf8.encode(JSON.stringify(order())))),
  ),

  test('body-mark-unsigned: MUST NOT remove a byte order mark that is not signed.', async (runner) => {
    const endpoint = await runner.mount()
    const unmarked = await signedOrder()
    await endpoint.expectAnswer(
      'a byte order mark before the signed bytes',
      withBody(unmarked, marked(unmarked.body)),
      'unauthenticated',
    )
    await endpoint.expectAnswer('the signed bytes alone', unmarked, 'handled')
  }),

  test('body-bytes: MUST pass on bytes that are not text: if they are signed, the sender must retry.', async (runner) => {
    const endpoint = await runner.mount()
    await endpoint.expectAnswer('a byte that UTF-8 never has', await signed(broken()), 'unprocessable')
    // More than arrives in one chunk.
    const everyByte = Uint8Array.from({ length: 200_000 }, (_, index) => index % 256)
    await endpoint.expectAnswer('every byte value, many times', await signed(everyByte), 'unprocessable')
  }),

  test('body-decoded: MUST NOT decode the body as text: a signature over the replacement character would cover any invalid byte.', async (runner) => {
    const endpoint = await runner.mount()
    const replaced = await signed(new TextDecoder().decode(broken()))
    await endpoint.expectAnswer(
      `an invalid byte under the signature of ${REPLACEMENT_CHARACTER}`,
      withBody(replaced, broken()),
      'unauthenticated',
    )
  }),

  ...CONTENT_TYPES.map(([id, label, contentType]) =>
    test(
      `content-type-${id}: MUST pass on the exact bytes of a body with a content-type ${label}.`,
      caseOf(`JSON as ${contentType ?? 'no content-type'}`, ODD_JSON, { 'content-type': contentType }),
    ),
  ),
]

/** A case that sends a signed body, which must reach the handler byte for byte, whatever its headers. */
function caseOf(
  label: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string | undefined>> = {},
) {
  return async (runner: AdapterCaseRunner): Promise<void> => {
    const endpoint = await runner.mount()
    await endpoint.expectHandledWhole(label, withHeaders(await signed(body), headers))
  }
}

/** The same order each time: it is made on import, and must not count as one of the user's samples. */
function order(): object {
  return sampleEvent('order.created', { seed: 0 })
}

function marked(bytes: Uint8Array): Uint8Array {
  return Uint8Array.of(...BYTE_ORDER_MARK, ...bytes)
}

/** An order with a byte that is invalid in UTF-8. */
function broken(): Uint8Array {
  const bytes = utf8.encode(JSON.stringify({ ...order(), note: '?' }))
  bytes[bytes.lastIndexOf(0x3f)] = 0xff
  return bytes
}
