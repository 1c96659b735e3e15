import type { Secret, Secrets } from '../../src/index.js'
import { makeEvent } from '../deliveries/sample-event.js'

/** Not of the form, but near it: whoever reads the number in `t` generously finds the signature valid. */
export function malformedHeaders(header: string): string[] {
  const [t = '', v1 = ''] = header.split(',')
  const digits = t.slice('t='.length)
  return [
    'nonsense',
    t,
    v1,
    v1.slice('v1='.length),
    `${t},${v1.replace('v1=', 'v0=')}`,
    `t=,${v1}`,
    `t=0x${Number(digits).toString(16)},${v1}`,
    `t=-${digits},${v1}`,
    `t=${digits}.0,${v1}`,
    `t=${digits}x,${v1}`,
    `t=1,${header}`,
    `${header},t=1`,
  ]
}

/** One signature, and only a part of it: whoever compares as far as it goes finds it valid. */
export function cutSignatures(header: string): string[] {
  const [t = '', v1 = ''] = header.split(',')
  return [v1.length - 2, v1.length / 2, 'v1=?'.length, 'v1='.length].map((end) => `${t},${v1.slice(0, end)}`)
}

/** The body with another digit in its date, with another last byte, and with something before or after it that a parser skips. */
export function tamperedBodies(body: string): string[] {
  const date = body.indexOf('"created_at":"') + '"created_at":"'.length
  const digit = body[date] === '1' ? '2' : '1'
  return [
    `${body.slice(0, date)}${digit}${body.slice(date + 1)}`,
    `${body.slice(0, -1)} `,
    `${body}\n`,
    `\ufeff${body}`,
  ]
}

export function notEnvelopes(kind: string): string[] {
  const created_at = '2026-05-17T14:02:11Z'
  return [
    null,
    [],
    'text',
    {},
    { created_at, data: {} },
    { type: '', created_at, data: {} },
    { type: kind, data: {} },
    { type: kind, created_at },
    { type: kind, created_at, data: [] },
  ].map((value) => JSON.stringify(value))
}

/** The bodies of events that nobody has a handler for. */
export function unknownEvents(kind: string): [string, string] {
  return [
    // Letters of several bytes, one of them in two parts: only whoever takes the bytes as they are finds the signature valid.
    JSON.stringify(makeEvent(`${kind}.unheard_of`, { data: { note: 'Zoe\u0308, 2 × 18 €' } })),
    // Each object has a method of this name: what has no handler must be looked up as what it has itself.
    JSON.stringify(makeEvent('__defineGetter__', { data: {} })),
  ]
}

/** A secret that differs from one of the endpoint's in one character at its end: longer than all, so that it is none of the others. */
export function nearMiss(secret: Secrets): Secret {
  const secrets = (Array.isArray(secret) ? secret : [secret]) as readonly Secret[]
  const longest = secrets.reduce((a, b) => (b.length > a.length ? b : a))
  return typeof longest === 'string' ? `${longest}1` : Uint8Array.of(...longest, 1)
}
