import { isCalendarDay, isPlainUrl, PLAIN_URL } from '../../internal.js'
import { messageOf, UsageError } from '../failure.js'
import { didYouMean } from './did-you-mean.js'
import type { Read } from './options.js'

/** Any text that is not empty. */
export function readText(text: string, name: string): string {
  if (text === '') throw new UsageError(`${name} is empty.`)
  return text
}

/** A port: 0 is any that is free. */
export function readPort(text: string, name: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (port <= 65_535) return port
  throw new UsageError(
    `${name} ${JSON.stringify(text)} is not a port: write a number from 0 to 65535 (0 is any free port).`,
  )
}

/** A whole number within bounds. */
export function wholeNumber(min: number, max: number): Read<number> {
  return (text, name) => {
    const number = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    if (number >= min && number <= max) return number
    throw new UsageError(`${name} must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}.`)
  }
}

/** A number from 0 to this. */
export function shareUpTo(max: number): Read<number> {
  return (text, name) => {
    const number = /^(\d+(\.\d+)?|\.\d+)$/.test(text) ? Number(text) : Number.NaN
    if (number <= max) return number
    throw new UsageError(
      `${name} must be a number from 0 to ${max}, such as 0.1, not ${JSON.stringify(text)}.`,
    )
  }
}

/** A number from 0 to 1. */
export const readShare: Read<number> = shareUpTo(1)

/** An http or https URL, exactly as it was given. */
export function readUrl(text: string, name: string): string {
  if (!isPlainUrl(text)) throw new UsageError(`${name} ${JSON.stringify(text)} ${PLAIN_URL}.`)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    const fixed = likelyUrl(text)
    const isLikely = !/^[a-z][a-z0-9+.-]*:\/\//i.test(text) && URL.canParse(fixed)
    throw new UsageError(
      `${name} ${JSON.stringify(text)} is not an http or https URL.${isLikely ? ` Did you mean ${fixed}?` : ' Write it like http://localhost:3000/hooks.'}`,
    )
  }
  if (url.hostname === '') throw new UsageError(`${name} ${JSON.stringify(text)} has no host.`)
  return text
}

/** A path or a port lacks its host; anything else its scheme. */
function likelyUrl(text: string): string {
  if (/^\/(?!\/)/.test(text)) return `http://localhost:3000${text}`
  const isPort = /^:?\d{1,5}(\/|$)/.test(text)
  return `http://${isPort ? 'localhost:' : ''}${text.replace(/^[:/]+/, '')}`
}

/** An instant, as ISO 8601 in UTC. An offset is required: without one, the instant would depend on the machine. */
export function readInstant(text: string, name: string): string {
  const isComplete = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/i.test(text)
  const instant = isComplete ? Date.parse(text) : Number.NaN
  if (Number.isNaN(instant) || !isCalendarDay(text.slice(0, 'YYYY-MM-DD'.length))) {
    throw new UsageError(
      `${name} ${JSON.stringify(text)} is not a valid time: write it with an offset, like 2026-12-01T19:00:00Z or 2026-12-01T20:00+01:00.`,
    )
  }
  return new Date(instant).toISOString()
}

/** One of some words. */
export function oneOf<const Choice extends string>(...choices: readonly Choice[]): Read<Choice> {
  return (text, name) => {
    const choice = choices.find((known) => known === text)
    if (choice !== undefined) return choice
    throw new UsageError(
      `${name} must be one of ${choices.join(', ')}, not ${JSON.stringify(text)}.${didYouMean(text, choices)}`,
    )
  }
}

/** A list with commas between its elements. */
export function listOf<Value>(read: Read<Value>): Read<readonly Value[]> {
  return (text, name) =>
    text.split(',').map((part) => {
      const element = part.trim()
      if (element === '')
        throw new UsageError(`${name} ${JSON.stringify(text)} has an empty element: write a,b,c.`)
      return read(element, name)
    })
}

/** `name=value`, with anything after the first `=`. */
export function pairOf<Value>(read: Read<Value>): Read<readonly [string, Value]> {
  return (text, name) => {
    const [key = '', ...rest] = text.split('=')
    if (key.trim() === '' || rest.length === 0) {
      throw new UsageError(`${name} ${JSON.stringify(text)} must be name=value.`)
    }
    return [key.trim(), read(rest.join('='), `${name} ${key.trim()}`)]
  }
}

/** A JSON value; anything else is a string, so that a URL or an id needs no quotes. */
export function readJsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The example and the advice of the messages about a JSON object. */
export interface ObjectForm {
  readonly example: string
  readonly cure: string
}

const ON_THE_SHELL: ObjectForm = {
  example: `'{"order":{"id":"ord_1"}}'`,
  cure: `Quote it for the shell: '{"a":1}'.`,
}

/** A JSON object. @throws UsageError that says where it breaks */
export function readObject(
  text: string,
  name: string,
  { example, cure }: ObjectForm = ON_THE_SHELL,
): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new UsageError(`${name} is not valid JSON: ${messageOf(cause)}. ${cure}`, { cause })
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw new UsageError(`${name} must be a JSON object, such as ${example}.`)
}
