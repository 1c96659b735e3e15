import type { Bench, Group } from '../support/bench.js'
import { type Comparison, type Measured, speedBeside, timeBeside } from '../support/comparison.js'
import { alternateWarm, cpuTimeFor, PROCESSOR_TIME } from '../support/cpu-time.js'
import type { Goal } from '../support/goal.js'
import { ORDER_BYTES, orderBody } from './orders.js'
import { ours, peers, prove, stripe, theLimit, type Verifier } from './verifiers.js'

/** The number of deliveries that take turns, so that no call repeats the one before. */
const DELIVERIES = 16

const [SMALL, , LARGE] = ORDER_BYTES

const LIMIT_GOALS: Readonly<Record<number, Goal>> = {
  300: { atMost: 1.1 },
  3000: { atMost: 1.05 },
  60000: { atMost: 1.05 },
}

const PEER_GOALS: Readonly<Record<string, Goal>> = {
  'stripe: constructEvent': { atLeast: 1.3 },
  'standardwebhooks: verify': { atLeast: 3 },
  'svix: verify': { atLeast: 3 },
}

/** The small order matters most; a large one shows what grows. */
const PEERS: Readonly<Record<number, readonly Verifier[]>> = { [SMALL]: peers, [LARGE]: [stripe] }

/** The cost of verifying a delivery and parsing its body, compared with the limit and the peers. */
export const verify: Group = {
  id: 'verify',
  async measure(bench) {
    const besideLimit: Comparison[] = []
    const besidePeers: Comparison[] = []
    for (const bytes of ORDER_BYTES) {
      const size = `${(orderBody(bytes).length / 1000).toFixed(1)} KB`
      bench.progress(`verify: ${size}`)
      const verifiers = [ours, theLimit, ...(PEERS[bytes] ?? [])]
      const [our, limit, ...others] = (await timesOf(bench, verifiers, bytes, size)) as [
        Measured,
        Measured,
        ...Measured[],
      ]
      besideLimit.push(timeBeside(our, limit, LIMIT_GOALS[bytes]))
      for (const peer of others) {
        besidePeers.push(speedBeside(our, peer, bytes === SMALL ? PEER_GOALS[peer.name] : undefined))
      }
    }
    return [
      {
        title: 'Verify and parse, beside the limit',
        ratio: 'Its time, to that of the least that can be correct',
        unit: PROCESSOR_TIME,
        comparisons: besideLimit,
        notes: [
          'The limit: createHmac with a KeyObject, timingSafeEqual, the timestamp, JSON.parse; synchronous, for one header form, and without a message. verifyWebhook checks its options and the data of the event too.',
        ],
      },
      {
        title: 'Verify and parse, beside others',
        ratio: 'How many times as fast as theirs',
        unit: PROCESSOR_TIME,
        comparisons: besidePeers,
        notes: [
          'Each verifies a signature of its own scheme over the same bytes, and is proved to return the event and to refuse a changed body. Asynchronous ones are awaited.',
          'All are given the Buffer that a framework has read, except @octokit/webhooks-methods, which takes a string: making that is not counted.',
          'stripe is synchronous in Node by default; standardwebhooks and svix compute SHA-256 in JavaScript.',
        ],
      },
    ]
  },
}

async function timesOf(
  bench: Bench,
  verifiers: readonly Verifier[],
  bytes: number,
  size: string,
): Promise<Measured[]> {
  for (const verifier of verifiers) await prove(verifier, orderBody(bytes))
  const bodies = Array.from({ length: DELIVERIES }, () => orderBody(bytes))
  const calls = await Promise.all(
    verifiers.map(async ({ prepare }) => {
      const prepared = await Promise.all(bodies.map((body) => prepare(body, body)))
      let next = 0
      return () => prepared[next++ % DELIVERIES]?.()
    }),
  )
  const ms = bench.size(15, 2)
  const figures = await alternateWarm(
    bench.size(96, 2),
    calls.map((call) => () => cpuTimeFor(call, ms)),
  )
  return verifiers.map((verifier, i) => ({
    name: verifier === ours ? `${ours.name}, ${size}` : verifier.name,
    figures: figures[i] ?? [],
  }))
}
