import type { Bench, Group } from '../support/bench.js'
import { alternateWarm, cpuTimeFor } from '../support/cpu-time.js'
import type { Goal } from '../support/goal.js'
import { COMPARISON_COLUMNS, PROCESSOR_TIME, speedBeside, type Timed, timeBeside } from './comparison.js'
import { ORDER_BYTES, orderBody } from './orders.js'
import { ours, peers, prove, theLimit, type Verifier } from './verifiers.js'

/** The number of deliveries that take turns, so that no call repeats the one before. */
const DELIVERIES = 16

const [SMALL] = ORDER_BYTES

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

/** The cost of verifying a delivery and parsing its body, compared with the limit and the peers. */
export const verify: Group = {
  id: 'verify',
  async measure(bench) {
    const besideLimit: string[][] = []
    const besidePeers: string[][] = []
    for (const bytes of ORDER_BYTES) {
      const size = `${(orderBody(bytes).length / 1000).toFixed(1)} KB`
      bench.progress(`verify: ${size}`)
      const [our, limit, ...others] = (await timesOf(bench, [ours, theLimit, ...peers], bytes)) as [
        Timed,
        Timed,
        ...Timed[],
      ]
      besideLimit.push([size, ...timeBeside(our, limit, LIMIT_GOALS[bytes])])
      for (const peer of others) {
        const goal = bytes === SMALL ? PEER_GOALS[peer.name] : undefined
        besidePeers.push([size, ...speedBeside(our, peer, goal)])
      }
    }
    const columns = ['order', ...COMPARISON_COLUMNS]
    return [
      {
        title: 'Verify and parse: its time, to that of the least that can be right',
        columns,
        rows: besideLimit,
        notes: [
          PROCESSOR_TIME,
          'The limit: createHmac with a KeyObject, timingSafeEqual, the timestamp, JSON.parse; synchronous, for one header form, and without a message. verifyWebhook checks its options and the data of the event too.',
        ],
      },
      {
        title: 'Verify and parse: how many times faster than others',
        columns,
        rows: besidePeers,
        notes: [
          'Each verifies a signature of its own scheme over the same bytes, and has been seen to give the event and to refuse a changed body. What is asynchronous is awaited; what is not, is not.',
          'All are given the Buffer that a framework has read, but for @octokit/webhooks-methods, which takes a string: making that is not counted.',
          'stripe has no asynchronous default in Node; standardwebhooks and svix compute SHA-256 in JavaScript.',
        ],
      },
    ]
  },
}

async function timesOf(bench: Bench, verifiers: readonly Verifier[], bytes: number): Promise<Timed[]> {
  for (const verifier of verifiers) await prove(verifier, orderBody(bytes))
  const bodies = Array.from({ length: DELIVERIES }, () => orderBody(bytes))
  const calls = await Promise.all(
    verifiers.map(async ({ prepare }) => {
      const prepared = await Promise.all(bodies.map((body) => prepare(body, body)))
      let next = 0
      return () => prepared[next++ % DELIVERIES]?.()
    }),
  )
  const ms = bench.size(20, 2)
  const figures = await alternateWarm(
    bench.size(61, 2),
    calls.map((call) => () => cpuTimeFor(call, ms)),
  )
  return verifiers.map(({ name }, i) => ({ name, figures: figures[i] ?? [] }))
}
