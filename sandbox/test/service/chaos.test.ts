import type { WebhookOptions } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
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

/** The names of what is sent before so many attempts. */
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
  test('sends what is certain before every attempt, what is impossible never, and what is likely often', async () => {
    const names = await namesOf(withSeed({ stale: 1, future: 0, duplicate: 0.3 }), 500)
    expect(names.every((one) => one.includes('stale'))).toBe(true)
    expect(names.flat()).not.toContain('future')
    const share = names.filter((one) => one.includes('duplicate')).length / names.length
    expect(share).toBeGreaterThan(0.2)
    expect(share).toBeLessThan(0.4)
  })

  test('is that of the seed, whichever delivery is tried first', async () => {
    const probabilities = { stale: 0.5, 'tampered-byte': 0.5, duplicate: 0.5 }
    const [one, other] = [message('msg_1'), message('msg_2')]
    const elsewhere = { ...ENDPOINT, id: 'we_2' }
    const hook = withSeed(probabilities)
    const inOrder = [
      await namesOf(hook, 8, one),
      await namesOf(hook, 8, other),
      await namesOf(hook, 8, one, elsewhere),
    ]
    const again = withSeed(probabilities)
    const reversed = [
      await namesOf(again, 8, one, elsewhere),
      await namesOf(again, 8, other),
      await namesOf(again, 8, one),
    ].reverse()
    expect(reversed).toEqual(inOrder)
    expect(new Set(inOrder.map((names) => JSON.stringify(names))).size).toBe(3)
    expect(await namesOf(withSeed(probabilities, 8), 8, one)).not.toEqual(inOrder[0])
  })

  test('is answered as the scenarios say, and the message itself is handled once', async () => {
    let runs = 0
    const options: WebhookOptions = {
      secret: SECRET,
      on: { 'event.*': () => void runs++ },
      onError: () => {},
    }
    const POST = tixWebhooks(options)
    const all = Object.fromEntries(CHAOTIC.map((name) => [name, 1]))
    const of = message()
    for (const { scenario, body, headers } of await withSeed(all)(of, ENDPOINT)) {
      const request = new Request(ENDPOINT.url, {
        method: 'POST',
        headers: { ...headers },
        body: body as string,
      })
      const { status } = await POST(request)
      const must = SCENARIOS.find(({ name }) => name === scenario)?.expect.statuses
      expect([scenario, must]).toEqual([scenario, expect.arrayContaining([status])])
    }
    expect(runs).toBe(1)
  })

  test('signs by the clock and in the way that it is given', async () => {
    const signature = { header: 'x-other', encoding: 'base64' } as const
    const hook = chaos(
      { valid: 1 },
      { random: new Random(1), signature, signingNow: () => 1_700_000_000_000 },
    )
    const [request] = await hook(message(), ENDPOINT)
    expect(request?.headers['x-other']).toMatch(/^t=1700000000,v1=[\w+/]{43}=,v1=[\w+/]{43}=$/)
  })

  test('hands on how a body travels', async () => {
    const requests = await withSeed({ chunked: 1, 'tiny-chunks': 1, 'slow-body': 1, valid: 1 })(
      message(),
      ENDPOINT,
    )
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

describe('invalid chaos is refused with a TypeError that says what to do:', () => {
  test.each<[string, unknown, RegExp]>([
    ['a list', ['duplicate'], /^chaos must be an object of scenarios and probabilities/],
    ['null', null, /^chaos must be an object/],
    [
      'a name that there is not',
      { mayhem: 0.1 },
      /^There is no scenario "mayhem"\. Chaos can be valid, two-v1, .*duplicate\.$/,
    ],
    ['a method of objects', { constructor: 0.1 }, /^There is no scenario "constructor"\./],
    ['tied', { tied: 0.1 }, /^tied cannot be chaos, which changes the time of no event/],
    ['reordered', { reordered: 0.1 }, /^reordered cannot be chaos, which holds back no delivery/],
    ['a burst', { 'concurrent-burst': 0.1 }, /^concurrent-burst cannot be chaos, .* use duplicate\./],
    ['other bytes', { unicode: 0.1 }, /^unicode cannot be chaos: its event never happened\. Trigger it\./],
    [
      'more than certain',
      { duplicate: 1.1 },
      /^chaos: the probability of duplicate must be a number from 0 to 1/,
    ],
    ['less than nothing', { duplicate: -0.1 }, /^chaos: the probability of duplicate must be/],
    ['no number', { duplicate: '0.1' }, /^chaos: the probability of duplicate must be/],
    ['NaN', { duplicate: Number.NaN }, /^chaos: the probability of duplicate must be/],
  ])('%s', (_, probabilities, message) => {
    expect(() => checkChaos(probabilities as ChaosProbabilities)).toThrow(TypeError)
    expect(() => withSeed(probabilities as ChaosProbabilities)).toThrow(message)
  })
})

describe('on a command line', () => {
  test.each([
    ['duplicate=0.1', { duplicate: 0.1 }],
    ['duplicate=.1, tampered-byte = 1 ,stale=0', { duplicate: 0.1, 'tampered-byte': 1, stale: 0 }],
  ])('%s is read', (text, probabilities) => {
    expect(readChaos(text)).toEqual(probabilities)
  })

  test.each<[string, RegExp]>([
    ['', /^chaos: "" is not of the form scenario=probability/],
    ['duplicate', /^chaos: "duplicate" is not of the form/],
    ['duplicate=often', /^chaos: "duplicate=often" is not of the form/],
    ['duplicate=10%', /^chaos: "duplicate=10%" is not of the form/],
    ['duplicate=0.1,', /^chaos: "" is not of the form/],
    ['duplicate=1,duplicate=0', /^chaos: duplicate is given twice\./],
    ['duplicate=2', /^chaos: the probability of duplicate/],
    ['mayhem=0.1', /^There is no scenario "mayhem"/],
  ])('%j is refused', (text, message) => {
    expect(() => readChaos(text)).toThrow(message)
  })
})
