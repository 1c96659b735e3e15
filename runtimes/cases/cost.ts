import { type Client, order } from './client.js'

/** The cost of a delivery through a backend, when they are sent one after another. */
export interface Cost {
  readonly backend: string
  readonly run: { readonly roundTrips: number; readonly medianMs: number }
  readonly duplicate: { readonly roundTrips: number; readonly medianMs: number }
}

const DELIVERIES = 200

/** Measures the round trips and the time of runs whose handler does nothing, and of their duplicates, over HTTP. */
export async function measureCost(client: Client, backend: string): Promise<Cost> {
  const orders = await Promise.all(Array.from({ length: DELIVERIES }, () => order()))
  const sendAll = async () => {
    const before = await client.control<number>(`round-trips/${backend}`)
    const times: number[] = []
    for (const { delivery } of orders) {
      const startedAtMs = performance.now()
      await client.send(backend, delivery)
      times.push(performance.now() - startedAtMs)
    }
    const after = await client.control<number>(`round-trips/${backend}`)
    const medianMs = times.sort((one, other) => one - other)[DELIVERIES / 2] ?? 0
    return { roundTrips: (after - before) / DELIVERIES, medianMs }
  }
  return { backend, run: await sendAll(), duplicate: await sendAll() }
}

/** As in `d1: a run 2 round trips, 3.4 ms; a duplicate 1 round trip, 2.0 ms`. */
export function costText({ backend, run, duplicate }: Cost): string {
  const text = ({ roundTrips, medianMs }: Cost['run']) =>
    `${roundTrips} ${roundTrips === 1 ? 'round trip' : 'round trips'}, ${medianMs.toFixed(1)} ms`
  return `${backend}: a run ${text(run)}; a duplicate ${text(duplicate)}`
}
