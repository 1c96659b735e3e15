import fc from 'fast-check'
import { createReceiver, type Secrets, signPayload, verifySignature } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { secretKeys } from '../../../src/signature/secrets.js'
import { sign } from '../../support/deliveries.js'
import { secrets } from '../../support/signing.js'

const keysOf = (value: unknown) => secretKeys(value as Secrets, 'secret')

const QUOTED = /is in quotes, which would be part of it: remove them\. docker --env-file keeps quotes/
const PLACEHOLDER = /^secret is a placeholder, so anybody could sign with it: is the environment variable set/
const EDGE = /begins or ends with white space \(a new line from a file or a shell\?\): trim it/

const refused: [string, unknown, RegExp][] = [
  [
    'undefined',
    undefined,
    /^secret is undefined: pass the signing secret.*environment variable.*\(next build\), pass a function: secret: \(\) => process\.env\./,
  ],
  ['an empty string', '', /^secret is empty: /],
  ['an empty list', [], /the list of secrets is empty; pass at least one/],
  ['a hole in a list', Object.assign(['good'], { length: 2 }), /^secret\[1\] is undefined: /],
  ['a number', 42, /must be a string or a Uint8Array, not a number/],
  ['a new line after it', 'good\n', EDGE],
  ['the bytes of a text file with a new line', Buffer.from('whsec_good\n'), EDGE],
  ['double quotes around it', '"whsec_good"', QUOTED],
  ['the bytes of text in quotes', Buffer.from('"whsec_good"'), QUOTED],
  ...[
    'undefined',
    'null',
    '[object Promise]',
    'whsec_',
    `\${TIX_SIGNING_SECRET}`,
    `whsec_\${SECRET:-}`,
    '%TIX_SIGNING_SECRET%',
    '<SIGNING_SECRET>',
    '$(TIX_SIGNING_SECRET)',
    '#{TIX_SIGNING_SECRET}#',
    'process.env.TIX_SIGNING_SECRET',
    'TIX_SIGNING_SECRET',
    'undefined,undefined',
    'whsec_…',
    'changeme',
    'op://vault/tix/secret',
    'arn:aws:secretsmanager:eu-west-1:1:secret:tix',
    '{{ .Values.secret }}',
  ].map((text): [string, unknown, RegExp] => [`the placeholder ${text}`, text, PLACEHOLDER]),
  ['the bytes of a placeholder', Buffer.from('undefined'), PLACEHOLDER],
]

describe('a secret that cannot be meant is a TypeError', () => {
  test.each(refused)('%s', async (_, value, message) => {
    expect(() => keysOf(value)).toThrow(TypeError)
    expect(() => keysOf(value)).toThrow(message)
    const secret = value as Secrets
    await expect(signPayload('{}', { secret })).rejects.toThrow(TypeError)
    await expect(signPayload('{}', { secret })).rejects.toThrow(message)
    // Before the header is checked: a receiver without a secret must not look like one that got an invalid header.
    await expect(verifySignature('{}', undefined, { secret })).rejects.toThrow(TypeError)
    expect(() => createReceiver({ secret, on: { 'order.created': () => {} } })).toThrow(TypeError)
  })

  test('and the message does not show it', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 16 }),
        fc.constantFrom(['', ' '], ['', '\n'], ['\t', ''], ['"', '"']),
        fc.boolean(),
        (secret, [before, after], isBytes) => {
          const edged = `${before}${secret}${after}`
          const thrown = errorOf(() => keysOf(isBytes ? Buffer.from(edged) : edged))
          expect(thrown).toBeInstanceOf(TypeError)
          expect(String(thrown)).not.toContain(secret)
        },
      ),
    )
  })
})

function errorOf(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    return error
  }
}

describe('a secret becomes a key', () => {
  test('of its UTF-8 bytes, or its bytes', () => {
    fc.assert(
      fc.property(secrets, (secret) => {
        const bytes = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret
        expect(keysOf(secret).map((key) => [...key.bytes])).toEqual([[...bytes]])
      }),
    )
  })

  test.each<[string, unknown]>([
    ['white space inside', 'two words'],
    ['a dollar sign', '$2b$10$k'],
    ['nothing between angle brackets', '<>'],
    ['braces and a dollar sign inside', `k3\${x}9`],
    ['a dollar sign before small letters', '$aBcDeFgHiJkLmNoP'],
    ['per cent signs around it', '%abcdef12%'],
    ['random bytes that end in a new line', Uint8Array.of(0x8f, 0x00, 0xff, 0x0a)],
    ['a quote at one end', '"whsec'],
    ['random bytes between two quotes', Uint8Array.of(0x22, 0xff, 0x22)],
  ])('with %s', (_, secret) => {
    expect(keysOf(secret)).toHaveLength(1)
  })

  test('that a later change of the caller\u2019s bytes does not reach', async () => {
    const secret = Buffer.from('whsec_wiped')
    const receiver = createReceiver({ secret, on: { 'order.created': () => {} } })
    secret.fill(0)
    const delivery = await sign({ type: 'x', created_at: '', data: {} }, { secret: 'whsec_wiped' })
    expect(await receiver.receive({ ...delivery, request: null })).toMatchObject({ outcome: 'unhandled' })
  })
})

describe('a secret that is given again with each delivery', () => {
  test('is one key where it is text, and keys of many do not pile up', () => {
    const [key] = secretKeys('whsec_again', 'secret')
    expect(secretKeys(['another', 'whsec_again'], 'secret')[1]).toBe(key)
    for (let i = 0; i < 1_000; i++) secretKeys(`whsec_${i}`, 'secret')
    const [after] = secretKeys('whsec_again', 'secret')
    expect(after).not.toBe(key)
    expect(after?.bytes).toEqual(key?.bytes)
  })

  test('is a key of its own each time where it is bytes, which can change', () => {
    const bytes = new Uint8Array([1, 2, 3])
    const [key] = secretKeys(bytes, 'secret')
    bytes[0] = 9
    expect(secretKeys(bytes, 'secret')[0]).not.toBe(key)
    expect(key?.bytes).toEqual(new Uint8Array([1, 2, 3]))
  })
})
