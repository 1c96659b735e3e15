import * as fc from 'fast-check'
import type { JsonObject, JsonValue } from '../../src/index.js'

/** The one to which text shrinks is first. */
const ASCII =
  'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ \'"&<>/\\%$#;:.,=+*-_~`!?@()[]{}|^'

/** What is one character to a reader and several to a program, and what is none to a reader. */
const ODD_CHARACTERS = [
  'é',
  'e\u0301',
  'ß',
  'İ',
  'ﬃ',
  '東',
  'م',
  '👩‍👩‍👧',
  '🇨🇭',
  '\u00a0',
  '\u200b',
  '\u202e',
  '\ufeff',
]

/** What JSON can say and few expect of it: control characters, ends of lines, and halves of a surrogate pair. */
const JSON_CHARACTERS = ['\u0000', '\n', '\r', '\t', '\u001b', '\u007f', '\u2028', '\ud800', '\udc00']

/** Names that an object has already, and those of an event. */
const ODD_NAMES = [
  '',
  '__proto__',
  'constructor',
  'toString',
  'toJSON',
  'then',
  'length',
  '0',
  'id',
  'type',
  'created_at',
  'data',
  'order',
]

/** Text as people write it, in any script; sometimes long, and never empty. */
export function texts(): fc.Arbitrary<string> {
  return longAtTimes(joined(characters(), { minLength: 1 }), 20)
}

/** Any text that JSON can say. */
export function jsonTexts(): fc.Arbitrary<string> {
  return longAtTimes(joined(jsonCharacters()), 200)
}

/** What any text is made of. */
export function jsonCharacters(): fc.Arbitrary<string> {
  return fc.oneof(
    { withCrossShrink: true },
    { weight: 4, arbitrary: characters() },
    { weight: 1, arbitrary: fc.constantFrom(...JSON_CHARACTERS) },
  )
}

/** Any value of JSON, as it is when it has been read. */
export function jsonValues(): fc.Arbitrary<JsonValue> {
  return json().value
}

/** Any object of JSON, as it is when it has been read. */
export function jsonObjects(): fc.Arbitrary<JsonObject> {
  return json().object
}

/** A plain object, as JSON gives it: fast-check 4 makes some without a prototype. */
export function objectsOf<T>(model: { [Name in keyof T]: fc.Arbitrary<T[Name]> }): fc.Arbitrary<T> {
  return fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<T>
}

/** Strings of units of one's own; `fc.string` has them in one half of the versions, and `fc.stringOf` is gone in the other. */
export function joined(unit: fc.Arbitrary<string>, length: fc.ArrayConstraints = {}): fc.Arbitrary<string> {
  return fc.array(unit, length).map((units) => units.join(''))
}

function characters(): fc.Arbitrary<string> {
  return fc.oneof(
    { withCrossShrink: true },
    { weight: 6, arbitrary: fc.constantFrom(...ASCII) },
    { weight: 2, arbitrary: fc.constantFrom(...ODD_CHARACTERS) },
    {
      weight: 1,
      arbitrary: fc.integer({ min: 0xa0, max: 0xd7ff }).map((code) => String.fromCodePoint(code)),
    },
    {
      weight: 1,
      arbitrary: fc.integer({ min: 0xe000, max: 0x10ffff }).map((code) => String.fromCodePoint(code)),
    },
  )
}

/** One text of so many is long. */
function longAtTimes(short: fc.Arbitrary<string>, of: number): fc.Arbitrary<string> {
  const times = fc.oneof(
    { withCrossShrink: true },
    { weight: of - 1, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.integer({ min: 2, max: 300 }) },
  )
  return fc.tuple(short, times).map(([text, count]) => text.repeat(count))
}

type Json = { value: JsonValue; list: JsonValue[]; object: JsonObject }

function json(): { [Name in keyof Json]: fc.Arbitrary<Json[Name]> } {
  const number = fc.oneof(
    fc.integer(),
    fc.maxSafeInteger(),
    // -0 is written 0.
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value || 0),
  )
  const scalar = fc.oneof({ withCrossShrink: true }, fc.constant(null), fc.boolean(), number, jsonTexts())
  const name = fc.oneof(fc.constantFrom(...ODD_NAMES), jsonTexts())
  return fc.letrec<Json>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3, depthSize: 'xsmall', withCrossShrink: true },
      scalar,
      tie('list'),
      tie('object'),
    ),
    list: fc.array(tie('value')),
    // By entries, so that __proto__ is a field like any other.
    object: fc.array(fc.tuple(name, tie('value'))).map((members) => Object.fromEntries(members)),
  }))
}
