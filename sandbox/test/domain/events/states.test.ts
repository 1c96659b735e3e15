import { describe, expect, test } from 'vitest'
import type { Trigger } from '../../../domain/events/states.js'
import {
  type CreatedEvent,
  EVENT_STATUSES,
  type EventStatus,
  type WebhookKind,
} from '../../../domain/resources.js'
import { type Ticketing, thrownRefusal, ticketing, tierId } from '../../support/ticketing.js'

const TRIGGERS: Record<Trigger, (service: Ticketing, event: CreatedEvent) => unknown> = {
  publish: ({ account }, { id }) => account.publishEvent(id),
  cancel: ({ account }, { id }) => account.cancelEvent(id, {}),
  reschedule: ({ account }, { id }) => account.rescheduleEvent(id, { doors_at: '2026-09-01T19:00+02:00' }),
  update: ({ account }, { id }) => account.updateEvent(id, { title: 'Another' }),
  order: ({ account }, event) =>
    account.createOrder({ event_id: event.id, ticket_tier_id: tierId(event), quantity: 1 }),
}

const EMITS: Partial<Record<Trigger, WebhookKind>> = {
  publish: 'event.published',
  cancel: 'event.cancelled',
  reschedule: 'event.rescheduled',
  order: 'order.created',
}

/** Written down a second time, from the specification and the conventions: where each trigger leads, or how it is refused. */
const MATRIX = `
            publish                  cancel                   reschedule       update           order
  draft     on_sale                  cancelled                draft            draft            event_not_on_sale
  on_sale   event_already_published  cancelled                on_sale          on_sale          on_sale
  sold_out  event_already_published  cancelled                sold_out         sold_out         event_sold_out
  past      event_past               event_past               event_past       event_past       event_past
  cancelled event_cancelled          event_already_cancelled  event_cancelled  event_cancelled  event_cancelled
`

const isStatus = (answer: string): answer is EventStatus =>
  (EVENT_STATUSES as readonly string[]).includes(answer)

const [triggers = [], ...rows] = MATRIX.trim()
  .split('\n')
  .map((line) => line.trim().split(/\s+/))
const cells = rows.flatMap(([status, ...answers]) =>
  answers.map((answer, index) => ({
    status: status as EventStatus,
    trigger: triggers[index] as Trigger,
    answer,
  })),
)

describe('an event', () => {
  test.each(cells.filter(({ answer }) => isStatus(answer)))(
    '[S38] [S40] [S43] [S53] [S54] [N80] [N82] [N83] [N84] that is $status: $trigger makes it $answer, and sends one webhook',
    async ({ status, trigger, answer }) => {
      const service = ticketing()
      const event = await service.eventIn(status)
      TRIGGERS[trigger](service, event)
      const kinds = service.emitted.map(({ kind }) => kind)
      expect(service.account.retrieveEvent(event.id).status).toBe(answer)
      expect(kinds).toEqual(EMITS[trigger] ? [EMITS[trigger]] : [])
    },
  )

  test.each(cells.filter(({ answer }) => !isStatus(answer)))(
    '[N82] [N83] [N84] [N85] [N86] [N93] that is $status: $trigger is refused with $answer, changes nothing and sends no webhook',
    async ({ status, trigger, answer }) => {
      const service = ticketing()
      const event = await service.eventIn(status)
      await service.clock.advanceBy(1)
      const before = [service.account.snapshot(), service.account.counts()]
      const { code, param, message } = thrownRefusal(() => TRIGGERS[trigger](service, event))
      expect([code, param]).toEqual([answer, undefined])
      expect(message).toContain(`The event ${event.id} `)
      expect([service.account.snapshot(), service.account.counts()]).toEqual(before)
      expect(service.emitted).toEqual([])
    },
  )

  test.each(EVENT_STATUSES)(
    '[N93] that is %s refuses an invalid request before its state is checked',
    async (status) => {
      const service = ticketing()
      const { account } = service
      const { id } = await service.eventIn(status)
      const before = account.snapshot()
      const codes = [
        () => account.publishEvent(id, { now: true }),
        () => account.cancelEvent(id, { why: 1 }),
        () => account.rescheduleEvent(id, {}),
        () => account.updateEvent(id, { title: 5 }),
      ].map((call) => thrownRefusal(call).code)
      const [unknown, missing, invalid] = ['parameter_unknown', 'parameter_missing', 'parameter_invalid']
      expect(codes).toEqual([unknown, unknown, missing, invalid])
      expect(account.snapshot()).toEqual(before)
    },
  )
})

describe('by itself, an event', () => {
  test('[N88] becomes past by a job, exactly at its end, even if nothing reads it', async () => {
    const service = ticketing()
    const { account, clock } = service
    const { ends_at } = service.publish()
    expect(clock.nextAt()).toBe(Date.parse(ends_at))
    await clock.advanceTo(Date.parse(ends_at) + 5000)
    const [event] = (account.snapshot() as { events: unknown[] }).events
    expect(event).toMatchObject({ status: 'past', updated_at: new Date(ends_at).toISOString() })
    expect(clock.nextAt()).toBeUndefined()
  })

  const READERS: Record<string, (service: Ticketing, event: CreatedEvent) => unknown> = {
    retrieveEvent: ({ account }, { id }) => account.retrieveEvent(id).status,
    listEvents: ({ account }) => account.listEvents({}).data[0]?.status,
    findBySlug: ({ account }, { slug }) => account.findBySlug(slug)?.status,
    createOrder: ({ order }, event) => thrownRefusal(() => order(event, 1)).code,
    cancelEvent: ({ account }, { id }) => thrownRefusal(() => account.cancelEvent(id)).code,
  }

  test.each(Object.entries(READERS))('[N88] is past when %s reads it before its job has run', (_, read) => {
    const service = ticketing()
    const event = service.publish()
    // A clock that has jumped, as after a sleep of the machine.
    Object.defineProperty(service.clock, 'now', { value: () => Date.parse(event.ends_at) })
    expect(read(service, event)).toMatch(/^(event_)?past$/)
  })
})
