import type { StoreCaseRunner } from './case-runner.js'
import { claimed, completed, inFlight, meets } from './expected-answer.js'
import { type Holder, holder, newKey, newToken, sequence } from './sequence.js'
import { defineCase, type StoreCase } from './store-case.js'

/** A receiver sends at most 255 characters of printable ASCII as a key, and 64 as a token. */
const MAX_KEY = 255
const MAX_TOKEN = 64
const PRINTABLE = Array.from({ length: 95 }, (_, index) => String.fromCharCode(0x20 + index))

/** A key or a token for the message of a failure. */
function quote(text: string): string {
  if (text.length <= 70) return JSON.stringify(text)
  return `${JSON.stringify(`${text.slice(0, 40)}…${text.slice(-20)}`)} of ${text.length} characters`
}

/** Claims each key with two tokens: the first claim must be granted, and the second must find the first. */
async function keepApart(runner: StoreCaseRunner, keys: readonly string[]): Promise<void> {
  const holders = keys.map((key): [Holder, Holder] => {
    const which = `of key ${quote(key)}`
    return [holder(`a ${which}`, key, newToken()), holder(`b ${which}`, key, newToken())]
  })
  for (const [a] of holders) await runner.run(a.claims(claimed(1)))
  for (const [, b] of holders) await runner.run(b.claims(inFlight(30)))
  for (const [a] of holders) await runner.run(a.completes(true))
}

/** Claims a key with the first token, and fails if one of the others can change the record. */
async function tellApart(runner: StoreCaseRunner, own: string, others: readonly string[]): Promise<void> {
  const key = newKey()
  const owner = holder(`token ${quote(own)}`, key, own)
  await runner.run(owner.claims(claimed(1)))
  for (const other of others) {
    const stranger = holder(`token ${quote(other)}`, key, other)
    await runner.run(stranger.renews(false))
    await runner.run(stranger.releases(false))
    await runner.run(stranger.completes(false))
    await runner.run(stranger.claims(inFlight(30)))
  }
  await runner.run(owner.claims(claimed(1)))
  await runner.run(owner.completes(true))
}

/** Ends of keys that no receiver sends, after 36 characters. Each pair differs where a store could truncate, fold or replace. */
const FORBIDDEN: readonly (readonly [what: string, one: string, other: string])[] = [
  ['of 10,000 characters', `${'k'.repeat(9_999)}1`, `${'k'.repeat(9_999)}2`],
  ['of 256 characters', `${'k'.repeat(219)}1`, `${'k'.repeat(219)}2`],
  ['with NUL', '\0one', '\0two'],
  ['that end in NUL', '', '\0'],
  ['of accented letters', 'caf\u00e9', 'cafe'],
  ['of composed and of combined letters', 'caf\u00e9', 'cafe\u0301'],
  ['of halves of a surrogate pair', '\ud800', '\ud801'],
]

/** To a store, keys and tokens are bytes to compare, and nothing else. */
export const keyCases: readonly StoreCase[] = [
  sequence('key-apart', 'MUST NOT let calls for one key affect another.', ({ a, b }, other) => [
    a.claims(claimed(1)),
    other.a.renews(false),
    other.a.claims(claimed(1)),
    other.a.releases(true),
    other.b.claims(claimed(2)),
    b.claims(inFlight(30)),
    a.completes(true),
    other.b.renews(true),
    other.a.claims(inFlight(30)),
    b.claims(completed),
  ]),

  defineCase('key-token', 'MUST keep the keys apart that one token holds.', async (runner) => {
    const token = newToken()
    const first = holder('a', newKey(), token)
    const second = holder('a of another key', newKey(), token)
    await runner.run(first.claims(claimed(1)))
    await runner.run(second.renews(false))
    await runner.run(second.claims(claimed(1)))
    await runner.run(first.renews(true))
    await runner.run(first.completes(true))
    await runner.run(second.releases(true))
    await runner.run(first.claims(completed))
  }),

  defineCase('key-long', 'MUST keep keys of 255 characters that differ in the last one apart.', (runner) => {
    const start = newKey().padEnd(MAX_KEY - 1, '/')
    return keepApart(runner, [`${start}1`, `${start}2`, start])
  }),

  defineCase('key-case', 'MUST keep keys apart that differ in upper and lower case.', (runner) => {
    const start = newKey()
    return keepApart(runner, [`${start}/order`, `${start}/Order`, `${start}/ORDER`])
  }),

  defineCase(
    'key-ascii',
    'MUST keep keys apart that differ in any character of printable ASCII.',
    (runner) => {
      const start = newKey()
      return keepApart(runner, [
        ...PRINTABLE.map((one) => `${start}${one}x`),
        `${start}${PRINTABLE.join('')}`,
      ])
    },
  ),

  defineCase('key-prefix', 'MUST keep keys apart if one begins with the other.', (runner) => {
    const start = newKey()
    return keepApart(runner, [start, `${start}/a`, `${start}/`, `${start}/a/b`, `${start}%`, `${start}*`])
  }),

  defineCase('key-spaces', 'MUST keep keys apart that differ in the spaces around them.', (runner) => {
    const start = newKey()
    return keepApart(runner, [start, `${start} `, ` ${start}`, `${start}  `])
  }),

  defineCase(
    'token-long',
    'MUST distinguish tokens of 64 characters that differ in the last one.',
    (runner) => {
      const start = newToken().padEnd(MAX_TOKEN - 1, '.')
      return tellApart(runner, `${start}1`, [`${start}2`, start])
    },
  ),

  defineCase('token-exact', 'MUST compare tokens character by character.', (runner) => {
    const token = `${newToken()}.Ab`
    const others = [
      token.toLowerCase(),
      token.toUpperCase(),
      token.slice(0, -1),
      `${token} `,
      `${token}c`,
      '%',
    ]
    return tellApart(runner, token, others)
  }),

  defineCase('token-ascii', 'MUST accept tokens of all of printable ASCII.', async (runner) => {
    const all = PRINTABLE.join('')
    await tellApart(runner, all.slice(0, MAX_TOKEN), [all.slice(-MAX_TOKEN)])
    await tellApart(runner, all.slice(-MAX_TOKEN), [all.slice(0, MAX_TOKEN)])
  }),

  defineCase(
    'key-forbidden',
    'SHOULD refuse a key that is longer than 255 characters or not printable ASCII, or keep it apart from all others.',
    async (runner) => {
      for (const [what, one, other] of FORBIDDEN) {
        runner.clearSteps()
        const start = newKey()
        const [first, second] = [`${start}${one}`, `${start}${other}`]
        const a = holder(`a of key ${quote(first)}`, first, newToken())
        const b = holder(`b of key ${quote(second)}`, second, newToken())
        const c = holder(`c of key ${quote(first)}`, first, newToken())
        const isKept = await grantsOrRefuses(a)
        await grantsOrRefuses(b)
        if (isKept) await runner.run(c.claims(inFlight(30)))

        async function grantsOrRefuses(one: Holder): Promise<boolean> {
          const answer = await runner.attempt(one.claims(claimed(1)))
          if (answer !== undefined && !meets(answer.value, claimed(1))) {
            runner.fail(`of two keys ${what}, one was taken for the other`)
          }
          return answer !== undefined
        }
      }
    },
  ),
]
