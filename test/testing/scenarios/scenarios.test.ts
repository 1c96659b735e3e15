import { SCENARIOS, type ScenarioName, scenarios } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { attackedHandler, PLAYED_KINDS, succeeding } from '../../support/attacked.js'
import { SECRET } from '../../support/deliveries.js'

const GENUINE = ['genuine', [200], 1]
const FORGED = ['forged', [401], 0]

/** The statuses of the contract: 400 is malformed, 401 unauthenticated, 500 unprocessable, 503 in flight. */
const EXPECTED: Record<ScenarioName, unknown[]> = {
  valid: GENUINE,
  whitespace: GENUINE,
  unicode: GENUINE,
  'extra-fields': GENUINE,
  thin: GENUINE,
  large: GENUINE,
  'two-v1': GENUINE,
  reordered: ['genuine', [200], 3],
  tied: ['genuine', [200], 2],
  chunked: GENUINE,
  'tiny-chunks': GENUINE,
  'slow-body': GENUINE,
  'missing-header': ['forged', [400], 0],
  'malformed-header': ['forged', [400], 0],
  'tampered-byte': FORGED,
  're-serialised-body': FORGED,
  'wrong-secret': FORGED,
  stale: FORGED,
  future: FORGED,
  truncated: FORGED,
  'other-endpoints-secret': FORGED,
  'empty-body': FORGED,
  'not-json': ['unusable', [500], 0],
  'not-an-envelope': ['unusable', [500], 0],
  duplicate: GENUINE,
  'concurrent-burst': ['genuine', [200, 503], 1],
  'unknown-kind': ['unknown', [200], 0],
}

const ALL = Object.entries(EXPECTED)
const WITHOUT_THIN = ALL.filter(([name]) => name !== 'thin')

describe('the table', () => {
  test('has the names, the verdicts, the statuses and the runs of the contract', () => {
    const table = SCENARIOS.map(({ name, verdict, expect: { statuses, runs } }) => [
      name,
      [verdict, statuses, runs],
    ])
    expect(table).toEqual(ALL)
  })

  test('says in a sentence what each sends, and which fault it finds', () => {
    const odd = SCENARIOS.filter(({ description }) => !/^[A-Z].+: finds .+[^.]\.$/.test(description))
    expect(odd.map(({ name }) => name)).toEqual([])
  })

  test.each(PLAYED_KINDS)('of %s is played whole, but for what the kind cannot be', async (kind, make) => {
    const played = await make({ secret: SECRET })
    const table = played.map(({ name, verdict, expect: { statuses, runs } }) => [
      name,
      [verdict, statuses, runs],
    ])
    expect(table).toEqual(kind === 'event.published' ? ALL : WITHOUT_THIN)
  })

  test('sends one after the other, except the burst, which is sent at once', async () => {
    const most: Record<string, number> = {}
    for (const { name, deliver, isBurst } of await scenarios('event.published', { secret: SECRET })) {
      let underWay = 0
      most[name] = 0
      await deliver(async () => {
        underWay += 1
        most[name] = Math.max(most[name] ?? 0, underWay)
        await new Promise(setImmediate)
        underWay -= 1
      })
      expect(isBurst).toBe(name === 'concurrent-burst')
    }
    expect(most).toEqual(
      Object.fromEntries(ALL.map(([name]) => [name, name === 'concurrent-burst' ? 12 : 1])),
    )
  })
})

describe('one receiver and one store', () => {
  test('stand the scenarios of all kinds, in order, in reverse, and made again', {
    tags: ['slow'],
  }, async () => {
    const receiver = attackedHandler()
    for (const [, make] of PLAYED_KINDS) {
      expect(await succeeding(await make({ secret: SECRET }), receiver)).toEqual([])
    }
    for (const [, make] of PLAYED_KINDS) {
      expect(await succeeding([...(await make({ secret: SECRET }))].reverse(), receiver)).toEqual([])
    }
  })
})
