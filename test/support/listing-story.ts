import { createReceiver, type Inbox } from 'tix-webhooks'
import { sampleEvent } from 'tix-webhooks/testing'
import { SECRET, sign } from './deliveries.js'

/** The kinds of the webhooks of one event, in the order in which they happened. */
export const STORY = ['event.published', 'event.rescheduled', 'event.cancelled'] as const
export type Step = (typeof STORY)[number]

/** The user's policy for events of one second: a cancellation outranks a reschedule, and that a publication. */
export const rankOf = (type: string): number => STORY.indexOf(type as Step)

export interface StoryEvent {
  readonly type: string
  readonly created_at: string
  readonly data: { readonly event: { readonly id: string } }
}

/** One webhook of the story, at that second of a minute. */
export function storyEvent(type: Step, subject: string, second: number): StoryEvent {
  const at = new Date(Date.UTC(2026, 10, 22, 10, 0, second)).toISOString()
  return sampleEvent(type, { data: { event: { id: subject } }, exact: true, at }) as StoryEvent
}

/** Each of the ways in which two copies of each of three webhooks can arrive. */
export const ARRIVALS: readonly (readonly number[])[] = (function arrivals(left: number[]): number[][] {
  if (left.every((count) => count === 0)) return [[]]
  return left.flatMap((count, step) =>
    count === 0 ? [] : arrivals(left.map((n, i) => (i === step ? n - 1 : n))).map((rest) => [step, ...rest]),
  )
})([2, 2, 2])

/** The seconds of the three: apart, two of them tied, or all. */
export const TIES: readonly (readonly [number, number, number])[] = [
  [0, 1, 2],
  [0, 0, 1],
  [0, 1, 1],
  [0, 0, 0],
]

/** A receiver on an inbox, whose handler of `event.*` is the given one. */
export function listing<Tx>(
  inbox: Inbox<Tx>,
  apply: (tx: Tx, event: StoryEvent) => unknown,
): { send(event: StoryEvent): Promise<string> } {
  const receiver = createReceiver<null, Tx>({
    secret: SECRET,
    inbox,
    namespace: 'listing',
    on: { 'event.*': (event, ctx) => apply(ctx.tx, event as unknown as StoryEvent) as Promise<void> },
    onError: () => {},
  })
  return {
    send: async (event) => (await receiver.receive({ ...(await sign(event)), request: null })).outcome,
  }
}

/** Sends it again until it is acknowledged, as the service does. */
export async function insist(send: () => Promise<string>): Promise<void> {
  const isDone = (outcome: string): boolean => outcome === 'handled' || outcome === 'duplicate'
  while (!isDone(await send()));
}
