import { Refusal, type RefusalCode } from '../refusal.js'
import type { EventStatus } from '../resources.js'

/** An action that a caller requests. */
export type Trigger = 'publish' | 'cancel' | 'reschedule' | 'update' | 'order'

/** A transition that happens without a caller. */
export type Occurrence = 'ended' | 'soldOut' | 'restocked'

/** The state after it, or the code of the refusal. */
type Answer = { readonly to: EventStatus } | { readonly refused: RefusalCode }

const to = (status: EventStatus): Answer => ({ to: status })
const refused = (code: RefusalCode): Answer => ({ refused: code })

/** The actions allowed in each state, and the state that they lead to. */
const TRANSITIONS: Readonly<Record<EventStatus, Readonly<Record<Trigger, Answer>>>> = {
  draft: {
    publish: to('on_sale'),
    cancel: to('cancelled'),
    reschedule: to('draft'),
    update: to('draft'),
    order: refused('event_not_on_sale'),
  },
  on_sale: {
    publish: refused('event_already_published'),
    cancel: to('cancelled'),
    reschedule: to('on_sale'),
    update: to('on_sale'),
    order: to('on_sale'),
  },
  sold_out: {
    publish: refused('event_already_published'),
    cancel: to('cancelled'),
    reschedule: to('sold_out'),
    update: to('sold_out'),
    order: refused('event_sold_out'),
  },
  past: {
    publish: refused('event_past'),
    cancel: refused('event_past'),
    reschedule: refused('event_past'),
    update: refused('event_past'),
    order: refused('event_past'),
  },
  cancelled: {
    publish: refused('event_cancelled'),
    cancel: refused('event_already_cancelled'),
    reschedule: refused('event_cancelled'),
    update: refused('event_cancelled'),
    order: refused('event_cancelled'),
  },
}

/** The transitions without a caller. A state that is not listed has none. */
export const OCCURRENCES: Readonly<Record<Occurrence, Readonly<Partial<Record<EventStatus, EventStatus>>>>> =
  {
    ended: { on_sale: 'past', sold_out: 'past' },
    soldOut: { on_sale: 'sold_out' },
    restocked: { sold_out: 'on_sale' },
  }

const SAYS: Partial<Record<RefusalCode, string>> = {
  event_not_on_sale: 'is a draft and cannot be sold yet: publish it first',
  event_already_published: 'is published already: there is nothing to do',
  event_already_cancelled: 'is cancelled already: there is nothing to do',
  event_cancelled: 'is cancelled, which is final: create another one',
  event_past: 'is past: create another one',
  event_ended: 'would be over before it is published: reschedule it first',
  event_sold_out: 'is sold out: there is no ticket left',
}

/**
 * The state that a trigger leads to.
 *
 * @throws Refusal if the state does not allow it
 */
export function nextStatus(event: { id: string; status: EventStatus }, trigger: Trigger): EventStatus {
  const answer = TRANSITIONS[event.status][trigger]
  if ('to' in answer) return answer.to
  throw stateRefusal(answer.refused, event.id)
}

/** The refusal of a call in the wrong state. */
export function stateRefusal(code: RefusalCode, eventId: string): Refusal {
  return new Refusal({ code, message: `The event ${eventId} ${SAYS[code] ?? 'does not allow this'}.` })
}
