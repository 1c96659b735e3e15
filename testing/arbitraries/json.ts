import * as fc from 'fast-check'
import type { JsonObject, JsonValue } from '../../src/index.js'

/** Text shrinks to the first. */
const ASCII =
  'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ \'"&<>/\\%$#;:.,=+*-_~`!?@()[]{}|^'

/** Several code points that look like one character, and characters that are invisible. */
const ODD_CHARACTERS = 'é|e\u0301|ß|İ|ﬃ|東|م|👩‍👩‍👧|🇨🇭|\u00a0|\u200b|\u202e|\ufeff'.split('|')

/** Characters of JSON that few programs expect: control characters, line separators, and halves of a surrogate pair. */
const JSON_CHARACTERS = ['\u0000', '\n', '\r', '\t', '\u001b', '\u007f', '\u2028', '\ud800', '\udc00']

/** Names of inherited properties, and of the fields of an event. */
const ODD_NAMES = '|__proto__|constructor|toString|toJSON|then|length|0|id|type|created_at|data|order'.split(
  '|',
)

/** Text in any script without control characters; sometimes long, and never empty. */
export function texts(): fc.Arbitrary<string> {
  return longAtTimes(joined(characters(), { minLength: 1 }), 20)
}

/** Any text of JSON. */
export function jsonTexts(): fc.Arbitrary<string> {
  return longAtTimes(joined(jsonCharacters()), 200)
}

/** Any character of JSON. */
function jsonCharacters(): fc.Arbitrary<string> {
  return weighted([4, characters()], [1, fc.constantFrom(...JSON_CHARACTERS)])
}

/** Any JSON value, as `JSON.parse` returns it. */
export function jsonValues(): fc.Arbitrary<JsonValue> {
  return weighted(
    [1, fc.constantFrom(null, true, false)],
    // fast-check makes objects without a prototype, and -0.
    // fast-check makes objects without a prototype, and -0.
    [3, fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)))],
    [1, jsonTexts()],
  )
}

/** Any JSON object, as `JSON.parse` returns it. */
export function jsonObjects(): fc.Arbitrary<JsonObject> {
  const name = fc.oneof(fc.constantFrom(...ODD_NAMES), jsonTexts())
  // From entries, so that __proto__ is an ordinary field.
  return fc.array(fc.tuple(name, jsonValues())).map((members) => Object.fromEntries(members))
}

/** A record that has a prototype, as `JSON.parse` makes it: fast-check 4 makes some without one. */
export function objectsOf<T>(model: { [Name in keyof T]: fc.Arbitrary<T[Name]> }): fc.Arbitrary<T> {
  return fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<T>
}

/** Strings of given units: `fc.stringOf` is only in fast-check 3, and its replacement in `fc.string` only in 4. */
export function joined(unit: fc.Arbitrary<string>, length: fc.ArrayConstraints = {}): fc.Arbitrary<string> {
  return fc.array(unit, length).map((units) => units.join(''))
}

/** One of them, each as often as its weight says. */
export function weighted<T>(
  ...from: readonly (readonly [weight: number, fc.Arbitrary<T>])[]
): fc.Arbitrary<T> {
  const weights = from.map(([weight, arbitrary]) => ({ weight, arbitrary }))
  return fc.oneof({ withCrossShrink: true }, ...weights)
}

function characters(): fc.Arbitrary<string> {
  return weighted(
    [6, fc.constantFrom(...ASCII)],
    [2, fc.constantFrom(...ODD_CHARACTERS)],
    [1, codePoints(0xa0, 0xd7ff)],
    [1, codePoints(0xe000, 0x10ffff)],
  )
}

function codePoints(min: number, max: number): fc.Arbitrary<string> {
  return fc.integer({ min, max }).map((code) => String.fromCodePoint(code))
}

/** Makes one text in `of` long. */
function longAtTimes(short: fc.Arbitrary<string>, of: number): fc.Arbitrary<string> {
  const times = weighted([of - 1, fc.constant(1)], [1, fc.integer({ min: 2, max: 300 })])
  return fc.tuple(short, times).map(([text, count]) => text.repeat(count))
}
