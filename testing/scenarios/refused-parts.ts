import type { Envelope, Secret, Secrets } from '../../src/index.js'
import { sampleEvent } from '../deliveries/sample-event.js'

/**
 * Almost well-formed headers: to a parser that reads the number in `t` leniently, the signature is valid. Those with two `t` are so to
 * one that reads either of them; and a stale one with another `t` that is fresh, to one that judges the age by that.
 */
export function malformedHeaders(header: string, stale: string): string[] {
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
    `${t},${stale}`,
    `${stale},${t}`,
  ]
}

/** A part of the signature: to a comparison that stops at the shorter length, it is valid. */
export function cutSignatures(header: string): string[] {
  const [t = '', v1 = ''] = header.split(',')
  return [v1.length - 2, v1.length / 2, 'v1=?'.length, 'v1='.length].map((end) => `${t},${v1.slice(0, end)}`)
}

/** The body with one digit of its date changed, with another last byte, and with something before or after it that parsers skip. */
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

/**
 * Bodies of JSON that lack a part of an event, or have another type in its place.
 *
 * @param next returns another event at each call: to a receiver that knows one of them, the others are no duplicates
 */
export function notEnvelopes(next: () => Envelope<string, unknown>): string[] {
  return [
    null,
    [],
    'text',
    {},
    { ...next(), type: undefined },
    { ...next(), type: '' },
    { ...next(), created_at: undefined },
    { ...next(), data: undefined },
    { ...next(), data: [] },
  ].map((value) => JSON.stringify(value))
}

/**
 * The bodies of events of kinds without a handler. Each has an id where receivers look for one: to those that remember ids before they
 * look at the kind, it is new.
 */
export function unknownEvents(kind: string): [string, string] {
  const known = kind.startsWith('event.') ? 'event.published' : 'order.created'
  const unknown = (type: string, note: object = {}): string => {
    const event = sampleEvent(known)
    return JSON.stringify({ ...event, type, data: { ...event.data, ...note } })
  }
  return [
    // Characters of several bytes, one of them combined: the signature is valid only over the exact bytes.
    unknown(`${kind}.unheard_of`, { note: 'Zoe\u0308, 2 × 18 €' }),
    // Every object inherits a method of this name: handlers must be looked up among own properties.
    unknown('__defineGetter__'),
  ]
}

/** The longest of the endpoint's secrets with one more character, so that it equals none of them. */
export function nearMiss(secret: Secrets): Secret {
  const secrets = (Array.isArray(secret) ? secret : [secret]) as readonly Secret[]
  const longest = secrets.reduce((a, b) => (b.length > a.length ? b : a))
  return typeof longest === 'string' ? `${longest}1` : Uint8Array.of(...longest, 1)
}
