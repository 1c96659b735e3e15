import type { ScenarioDelivery } from 'tix-webhooks/testing'

/** A delivery that was answered wrongly, as it was sent. */
export interface WrongDelivery {
  /** Its place among the deliveries of the probe, from 1. */
  readonly number: number
  /** How many deliveries the probe has. */
  readonly of: number
  /** The signature header; null if there was none. */
  readonly header: string | null
  readonly body: string
  /** Absent if the body was sent whole. */
  readonly transport?: NonNullable<ScenarioDelivery['transport']>
  /** The status of the answer, or why there was none. */
  readonly answer: string
}

/** The delivery at a place from 0, and its answer. */
export function wrongDelivery(
  deliveries: readonly ScenarioDelivery[],
  index: number,
  answer: string,
): WrongDelivery {
  const { header = null, body = '', transport } = deliveries[index] ?? {}
  return {
    number: index + 1,
    of: deliveries.length,
    header,
    body,
    ...(transport !== undefined && { transport }),
    answer,
  }
}
