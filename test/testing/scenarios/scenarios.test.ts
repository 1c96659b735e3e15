import { inspect } from 'node:util'
import { SCENARIOS, type ScenarioName, scenarios } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'
import { PLAYED_KINDS } from '../../support/played-scenarios.js'

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

  test('sends one after the other, except the burst, which is sent at once, and returns the answers in order', async () => {
    const most: Record<string, number> = {}
    for (const { name, deliver, deliveries, isBurst } of await scenarios('event.published', {
      secret: SECRET,
    })) {
      let underWay = 0
      most[name] = 0
      const answers = await deliver(async (delivery) => {
        underWay += 1
        most[name] = Math.max(most[name] ?? 0, underWay)
        await new Promise(setImmediate)
        underWay -= 1
        return delivery
      })
      expect(answers).toEqual(deliveries)
      expect(isBurst).toBe(name === 'concurrent-burst')
    }
    expect(most).toEqual(
      Object.fromEntries(ALL.map(([name]) => [name, name === 'concurrent-burst' ? 12 : 1])),
    )
  })

  test.each(PLAYED_KINDS)('of %s has, with only: refused, what is due no 2xx and no run', async (_, make) => {
    const due = ALL.filter(([, [verdict]]) => verdict === 'forged' || verdict === 'unusable')
    const refused = await make({ secret: SECRET, only: 'refused' })
    expect(refused.map(({ name }) => name)).toEqual(due.map(([name]) => name))
    for (const { expect: must, deliveries } of refused) {
      expect(must.statuses.filter((status) => status < 400)).toEqual([])
      expect([must.runs, deliveries.length > 0]).toEqual([0, true])
    }
  })

  test.each([SECRET, Buffer.from(SECRET), [Buffer.from('whsec_old'), SECRET]])(
    'holds no secret, whatever of it is looked at',
    async (secret) => {
      const all = await scenarios('order.created', { secret })
      // Its 512 KiB would take inspect a second, and are made as the others are.
      const table = all.filter(({ name }) => name !== 'large')
      const seen = inspect(table, { depth: Number.POSITIVE_INFINITY, showHidden: true, maxArrayLength: null })
      expect(seen).toContain('concurrent-burst')
      const byte = inspect(Buffer.from(SECRET)).slice(8, 40)
      for (const form of [SECRET, SECRET.slice(0, 8), byte, 'whsec_old']) expect(seen).not.toContain(form)
    },
  )
})
