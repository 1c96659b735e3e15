import { claimed, inFlight, meets } from './answers.js'
import type { StoreCaseRunner } from './case-runner.js'
import { newKey, newToken, stepsOf } from './steps.js'
import { type StoreCase, test } from './store-case.js'

/** A receiver sends at most 255 characters of printable ASCII as a key, and 64 as a token. */
const MAX_KEY = 255
const MAX_TOKEN = 64
export const PRINTABLE: readonly string[] = Array.from({ length: 95 }, (_, index) =>
  String.fromCharCode(0x20 + index),
)

/** A key or a token for the message of a failure. */
function quote(text: string): string {
  if (text.length <= 70) return JSON.stringify(text)
  return `${JSON.stringify(`${text.slice(0, 40)}…${text.slice(-20)}`)} of ${text.length} characters`
}

/** The steps of tokens of a key, which is named in their labels. */
function stepsFor(text: string, key: string, tokens: Readonly<Record<string, string>>, named: string) {
  return stepsOf(text, [{ key, tokens }]).map((step) => ({ ...step, label: `${step.label} of ${named}` }))
}

/** Claims each key with two tokens: the first claim must be granted, and the second must find the first. */
async function keepApart(runner: StoreCaseRunner, keys: readonly string[]): Promise<void> {
  const subjects = keys.map((key) => ({ key, tokens: { a: newToken(), b: newToken() } }))
  for (const text of ['a claim = 1', 'b claim = left 30', 'a complete = yes']) {
    for (const { key, tokens } of subjects) {
      await runner.runAll(stepsFor(text, key, tokens, `key ${quote(key)}`))
    }
  }
}

/** Claims a key with the first token, and fails if one of the others can change the record. */
async function tellApart(runner: StoreCaseRunner, own: string, others: readonly string[]): Promise<void> {
  const key = newKey()
  const run = async (text: string, token: string): Promise<void> => {
    await runner.runAll(stepsFor(text, key, { a: token }, `token ${quote(token)}`))
  }
  await run('a claim = 1', own)
  for (const other of others)
    await run('a renew = no, a release = no, a complete = no, a claim = left 30', other)
  await run('a claim = 1, a complete = yes', own)
}

/** Keys that begin alike, and must not be taken for each other: their ends. */
const APART: Readonly<Record<string, (start: string) => readonly string[]>> = {
  'key-long: MUST keep keys of 255 characters that differ in the last one apart.': (start) =>
    ['', '1', '2'].map((last) => `${'/'.repeat(MAX_KEY - 1 - start.length)}${last}`),
  'key-case: MUST keep keys apart that differ in upper and lower case.': () => ['order', 'Order', 'ORDER'],
  'key-ascii: MUST keep keys apart that differ in any character of printable ASCII.': () => [
    ...PRINTABLE.map((one) => `${one}x`),
    PRINTABLE.join(''),
  ],
  'key-prefix: MUST keep keys apart if one begins with the other.': () => ['', '/a', '/', '/a/b', '%', '*'],
  'key-spaces: MUST keep keys apart that differ in the spaces after them.': () => ['', ' ', '  '],
}

/** Ends of keys that no receiver sends, after 37 characters. Each pair differs where a store could truncate, fold or replace. */
const FORBIDDEN: readonly (readonly [what: string, one: string, other: string])[] = [
  ['of 10,000 characters', `${'k'.repeat(9_999)}1`, `${'k'.repeat(9_999)}2`],
  ['of 256 characters', `${'k'.repeat(218)}1`, `${'k'.repeat(218)}2`],
  ['with NUL', '\0one', '\0two'],
  ['that end in NUL', '', '\0'],
  ['of accented letters', 'caf\u00e9', 'cafe'],
  ['of composed and of combined letters', 'caf\u00e9', 'cafe\u0301'],
  ['of halves of a surrogate pair', '\ud800', '\ud801'],
]

/** To a store, keys and tokens are bytes to compare, and nothing else. */
export const keyCases: readonly StoreCase[] = [
  ...Object.entries(APART).map(([title, endsOf]) =>
    test(title, async (runner) => {
      const start = newKey()
      const keys = endsOf(start).map((end) => `${start}${end}`)
      await keepApart(runner, keys)
    }),
  ),

  test('key-token: MUST keep the keys apart that one token holds.', async (runner) => {
    const tokens = { a: newToken() }
    const subjects = [newKey(), newKey()].map((key) => ({ key, tokens }))
    const steps =
      'a claim = 1, A renew = no, A claim = 1, a renew = yes, a complete = yes, A release = yes, a claim = completed'
    await runner.runAll(stepsOf(steps, subjects))
  }),

  test('token-long: MUST distinguish tokens of 64 characters that differ in the last one.', (runner) => {
    const start = newToken().padEnd(MAX_TOKEN - 1, '.')
    return tellApart(runner, `${start}1`, [`${start}2`, start])
  }),

  test('token-exact: MUST compare tokens character by character.', (runner) => {
    const token = `${newToken()}.Ab`
    return tellApart(runner, token, [
      ...[token.toLowerCase(), token.toUpperCase(), token.slice(0, -1)],
      ...[`${token} `, `${token}c`, '%'],
    ])
  }),

  test('token-ascii: MUST accept tokens of all of printable ASCII.', async (runner) => {
    const all = PRINTABLE.join('')
    await tellApart(runner, all.slice(0, MAX_TOKEN), [all.slice(-MAX_TOKEN)])
    await tellApart(runner, all.slice(-MAX_TOKEN), [all.slice(0, MAX_TOKEN)])
  }),

  test('key-forbidden: SHOULD refuse a key that is longer than 255 characters or not printable ASCII, or keep it apart from all others.', async (runner) => {
    for (const [what, one, other] of FORBIDDEN) {
      runner.clearSteps()
      const start = newKey()
      const [first, second] = [`${start}${one}`, `${start}${other}`]
      const grantsOrRefuses = async (key: string): Promise<boolean> => {
        const [step] = stepsFor('a claim', key, { a: newToken() }, `key ${quote(key)}`)
        const answer = step && (await runner.attempt(step))
        if (answer !== undefined && !meets(answer.value, claimed(1))) {
          runner.fail(`of two keys ${what}, one was taken for the other`)
        }
        return answer !== undefined
      }
      const isKept = await grantsOrRefuses(first)
      await grantsOrRefuses(second)
      const [last] = stepsFor('c claim', first, { c: newToken() }, `key ${quote(first)}`)
      if (isKept && last) await runner.run({ ...last, expected: inFlight(30) })
    }
  }),
]
