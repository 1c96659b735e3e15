import type { Trial } from './case-runner.js'
import { claimed, completed, inFlight, meets } from './expected-answer.js'
import { type Holder, holder, newKey, newToken, story } from './sequence.js'
import { defineCase, type StoreCase } from './store-case.js'

/** What a receiver may send: 255 characters of printable ASCII as a key, 64 as a token. */
const MAX_KEY = 255
const MAX_TOKEN = 64
const PRINTABLE = Array.from({ length: 95 }, (_, index) => String.fromCharCode(0x20 + index))

/** How a text is told in the steps of a case. */
function quote(text: string): string {
  if (text.length <= 70) return JSON.stringify(text)
  return `${JSON.stringify(`${text.slice(0, 40)}…${text.slice(-20)}`)} of ${text.length} characters`
}

/** Two claims of each key, by two tokens: the first is granted, the second finds the first. */
async function keepApart(trial: Trial, keys: readonly string[]): Promise<void> {
  const holders = keys.map((key): [Holder, Holder] => {
    const which = `of key ${quote(key)}`
    return [holder(`a ${which}`, key, newToken()), holder(`b ${which}`, key, newToken())]
  })
  for (const [a] of holders) await trial.take(a.claims(claimed(1)))
  for (const [, b] of holders) await trial.take(b.claims(inFlight(30)))
  for (const [a] of holders) await trial.take(a.completes(true))
}

/** Only the first of the tokens may do anything to the record. */
async function tellApart(trial: Trial, own: string, others: readonly string[]): Promise<void> {
  const key = newKey()
  const owner = holder(`token ${quote(own)}`, key, own)
  await trial.take(owner.claims(claimed(1)))
  for (const other of others) {
    const stranger = holder(`token ${quote(other)}`, key, other)
    await trial.take(stranger.renews(false))
    await trial.take(stranger.releases(false))
    await trial.take(stranger.completes(false))
    await trial.take(stranger.claims(inFlight(30)))
  }
  await trial.take(owner.claims(claimed(1)))
  await trial.take(owner.completes(true))
}

/** Ends of keys of 36 characters, as no receiver sends them. Each pair differs where it could be cut, folded or replaced. */
const FORBIDDEN: readonly (readonly [what: string, one: string, other: string])[] = [
  ['of 10,000 characters', `${'k'.repeat(9_999)}1`, `${'k'.repeat(9_999)}2`],
  ['of 256 characters', `${'k'.repeat(219)}1`, `${'k'.repeat(219)}2`],
  ['with NUL', '\0one', '\0two'],
  ['that end in NUL', '', '\0'],
  ['of accented letters', 'caf\u00e9', 'cafe'],
  ['of composed and of combined letters', 'caf\u00e9', 'cafe\u0301'],
  ['of halves of a surrogate pair', '\ud800', '\ud801'],
]

/** What a key and a token are to a store: bytes that it compares, and nothing else. */
export const keyCases: readonly StoreCase[] = [
  story('key-apart', 'MUST NOT let calls for one key affect another.', ({ a, b }, other) => [
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

  defineCase('key-token', 'MUST keep the keys apart that one token holds.', async (trial) => {
    const token = newToken()
    const first = holder('a', newKey(), token)
    const second = holder('a of another key', newKey(), token)
    await trial.take(first.claims(claimed(1)))
    await trial.take(second.renews(false))
    await trial.take(second.claims(claimed(1)))
    await trial.take(first.renews(true))
    await trial.take(first.completes(true))
    await trial.take(second.releases(true))
    await trial.take(first.claims(completed))
  }),

  defineCase('key-long', 'MUST keep keys of 255 characters that differ in the last one apart.', (trial) => {
    const start = newKey().padEnd(MAX_KEY - 1, '/')
    return keepApart(trial, [`${start}1`, `${start}2`, start])
  }),

  defineCase('key-case', 'MUST keep keys apart that differ in upper and lower case.', (trial) => {
    const start = newKey()
    return keepApart(trial, [`${start}/order`, `${start}/Order`, `${start}/ORDER`])
  }),

  defineCase(
    'key-ascii',
    'MUST keep keys apart that differ in any character of printable ASCII.',
    (trial) => {
      const start = newKey()
      return keepApart(trial, [...PRINTABLE.map((one) => `${start}${one}x`), `${start}${PRINTABLE.join('')}`])
    },
  ),

  defineCase('key-prefix', 'MUST keep keys apart if one begins with the other.', (trial) => {
    const start = newKey()
    return keepApart(trial, [start, `${start}/a`, `${start}/`, `${start}/a/b`, `${start}%`, `${start}*`])
  }),

  defineCase('key-spaces', 'MUST keep keys apart that differ in the spaces around them.', (trial) => {
    const start = newKey()
    return keepApart(trial, [start, `${start} `, ` ${start}`, `${start}  `])
  }),

  defineCase(
    'token-long',
    'MUST distinguish tokens of 64 characters that differ in the last one.',
    (trial) => {
      const start = newToken().padEnd(MAX_TOKEN - 1, '.')
      return tellApart(trial, `${start}1`, [`${start}2`, start])
    },
  ),

  defineCase('token-exact', 'MUST compare tokens character by character.', (trial) => {
    const token = `${newToken()}.Ab`
    const others = [
      token.toLowerCase(),
      token.toUpperCase(),
      token.slice(0, -1),
      `${token} `,
      `${token}c`,
      '%',
    ]
    return tellApart(trial, token, others)
  }),

  defineCase('token-ascii', 'MUST accept tokens of all of printable ASCII.', async (trial) => {
    const all = PRINTABLE.join('')
    await tellApart(trial, all.slice(0, MAX_TOKEN), [all.slice(-MAX_TOKEN)])
    await tellApart(trial, all.slice(-MAX_TOKEN), [all.slice(0, MAX_TOKEN)])
  }),

  defineCase(
    'key-forbidden',
    'SHOULD refuse a key that is longer than 255 characters or not printable ASCII, or keep it apart from all others.',
    async (trial) => {
      for (const [what, one, other] of FORBIDDEN) {
        trial.turnPage()
        const start = newKey()
        const [first, second] = [`${start}${one}`, `${start}${other}`]
        const a = holder(`a of key ${quote(first)}`, first, newToken())
        const b = holder(`b of key ${quote(second)}`, second, newToken())
        const c = holder(`c of key ${quote(first)}`, first, newToken())
        const isKept = await grantsOrRefuses(a)
        await grantsOrRefuses(b)
        if (isKept) await trial.take(c.claims(inFlight(30)))

        async function grantsOrRefuses(one: Holder): Promise<boolean> {
          const answer = await trial.attempt(one.claims(claimed(1)))
          if (answer !== undefined && !meets(answer.value, claimed(1))) {
            trial.fail(`of two keys ${what}, one was taken for the other`)
          }
          return answer !== undefined
        }
      }
    },
  ),
]
