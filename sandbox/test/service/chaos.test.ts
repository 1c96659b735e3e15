import { makeScenario, SCENARIOS, sampleEvent } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../../test/support/deliveries.js'
import type { Endpoint } from '../../engine/endpoint.js'
import type { Message } from '../../engine/record/records.js'
import { Random } from '../../lib/random.js'
import { CHAOTIC, type ChaosProbabilities, chaos, checkChaos, readChaos } from '../../service/chaos.js'

const ENDPOINT: Endpoint = {
  id: 'we_1',
  url: 'http://localhost/hooks',
  events: ['*'],
  secrets: [SECRET, 'whsec_old'],
  enabled: true,
  mode: 'test',
}

function message(id = 'msg_1', body = JSON.stringify(sampleEvent('event.published', { seed: 1 }))): Message {
  return { id, mode: 'test', type: 'event.published', createdAt: '2026-05-17T14:02:11Z', body }
}

const withSeed = (probabilities: ChaosProbabilities, seed = 7) =>
  chaos(probabilities, { random: new Random(seed), signature: undefined, signingNow: undefined })

/** The scenarios before each of so many attempts. */
async function namesOf(
  hook: ReturnType<typeof chaos>,
  attempts: number,
  of = message(),
  to = ENDPOINT,
): Promise<string[][]> {
  const names: string[][] = []
  for (let count = 0; count < attempts; count++) {
    const requests = await hook(of, to)
    names.push([...new Set(requests.map(({ scenario }) => scenario))])
  }
  return names
}

describe('chaos', () => {
  test('is sent as often as it is probable', async () => {
    const names = await namesOf(withSeed({ stale: 1, future: 0, duplicate: 0.3 }), 500)
    const count = (name: string) => names.filter((one) => one.includes(name)).length
    expect([count('stale'), count('future')]).toEqual([500, 0])
    expect(count('duplicate')).toBeGreaterThan(100)
    expect(count('duplicate')).toBeLessThan(200)
  })

  test('depends on the seed, not on which delivery is attempted first', async () => {
    const probabilities = { stale: 0.5, 'tampered-byte': 0.5, duplicate: 0.5 }
    const deliveries = [
      [message('msg_1'), ENDPOINT],
      [message('msg_2'), ENDPOINT],
      [message('msg_1'), { ...ENDPOINT, id: 'we_2' }],
    ] as const
    const namesInOrder = async (order: readonly number[], seed?: number) => {
      const hook = withSeed(probabilities, seed)
      const names: string[] = []
      for (const at of order) {
        const [of, to] = deliveries[at] ?? []
        names[at] = JSON.stringify(await namesOf(hook, 8, of, to))
      }
      return names
    }
    const names = await namesInOrder([0, 1, 2])
    expect(await namesInOrder([2, 1, 0])).toEqual(names)
    expect(new Set(names).size).toBe(3)
    expect(await namesInOrder([0], 8)).not.toEqual(names.slice(0, 1))
  })

  test('signs with the clock and the options that it is given', async () => {
    const signature = { header: 'x-other', encoding: 'base64' } as const
    const hook = chaos(
      { valid: 1 },
      { random: new Random(1), signature, signingNow: () => 1_700_000_000_000 },
    )
    const [request] = await hook(message(), ENDPOINT)
    expect(request?.headers['x-other']).toMatch(/^t=1700000000,v1=[\w+/]{43}=,v1=[\w+/]{43}=$/)
  })

  test('keeps the transport of a body', async () => {
    const hook = withSeed({ chunked: 1, 'tiny-chunks': 1, 'slow-body': 1, valid: 1 })
    const requests = await hook(message(), ENDPOINT)
    expect(requests.map(({ scenario, transport }) => [scenario, transport])).toEqual([
      ['valid', undefined],
      ['chunked', 'chunked'],
      ['tiny-chunks', 'tiny-chunks'],
      ['slow-body', 'slow'],
    ])
  })
})

test.each(SCENARIOS)(
  '$name can be chaos only if a receiver must refuse it, or it repeats the message',
  async ({ name, verdict, isBurst }) => {
    const { body } = message()
    const { deliveries } = await makeScenario(name, { body, secret: SECRET })
    const isSame = deliveries.every((delivery) => delivery.body === body)
    const tellsNothing = verdict === 'forged' || verdict === 'unusable' || (isSame && !isBurst)
    expect(CHAOTIC.includes(name)).toBe(tellsNothing)
  },
)

const NO_PROBABILITY = /^chaos: the probability of duplicate must be a number from 0 to 1/

test.each<[unknown, RegExp]>([
  [null, /^chaos must be an object/],
  [{ mayhem: 0.1 }, /^There is no scenario "mayhem"\. Chaos can be valid, two-v1, .*duplicate\.$/],
  [{ 'concurrent-burst': 0.1 }, /^concurrent-burst cannot be chaos, .* use duplicate\./],
  [{ unicode: 0.1 }, /^unicode cannot be chaos: its event never happened\. Trigger it\./],
  [{ duplicate: -0.1 }, NO_PROBABILITY],
  [{ duplicate: Number.NaN }, NO_PROBABILITY],
])('the chaos %j is refused', (probabilities, message) => {
  expect(() => checkChaos(probabilities as ChaosProbabilities)).toThrow(TypeError)
  expect(() => withSeed(probabilities as ChaosProbabilities)).toThrow(message)
})

describe('on a command line', () => {
  test.each([['duplicate=.1, tampered-byte = 1 ,stale=0', { duplicate: 0.1, 'tampered-byte': 1, stale: 0 }]])(
    '%s is read',
    (text, probabilities) => {
      expect(readChaos(text)).toEqual(probabilities)
    },
  )

  test.each<[string, RegExp]>([
    ['', /^chaos: "" is not of the form scenario=probability/],
    ['duplicate=10%', /^chaos: "duplicate=10%" is not of the form/],
    ['duplicate=0.1,', /^chaos: "" is not of the form/],
    ['duplicate=1,duplicate=0', /^chaos: duplicate is given twice\./],
  ])('%j is refused', (text, message) => {
    expect(() => readChaos(text)).toThrow(message)
  })
})
