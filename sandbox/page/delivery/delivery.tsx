import { useLayoutEffect, useRef } from 'preact/hooks'
import { get } from '../data/api.js'
import { reasonOf } from '../data/reason.js'
import { hashOf, type Route } from '../data/route.js'
import type { Brief, DeliveryView, State } from '../data/views.js'
import { Badge } from '../parts/badge.js'
import { Id } from '../parts/copy.js'
import { Moment } from '../parts/moment.js'
import { Shown } from '../parts/shown.js'
import { useLoaded } from '../parts/use-loaded.js'
import { Actions } from './actions.js'
import { Answer } from './answer.js'
import { Attempts } from './attempts.js'
import { Axis } from './axis.js'
import { Payload } from './payload.js'
import { Signature } from './signature.js'
import { Why } from './why.js'

interface DeliveryProps {
  readonly id: string
  /** Its line in the list; undefined if it is not in the list. */
  readonly brief: Brief | undefined
  readonly route: Route
  readonly state: State
}

interface Loaded {
  readonly delivery: DeliveryView
  /** When it is tried from now on. */
  readonly planned: readonly string[]
}

/** One delivery: what was planned, sent and answered, and why. */
export function Delivery({ id, brief, route, state }: DeliveryProps) {
  // Its line is a new object whenever the delivery changes. If it is not in the list, any new state may be about it.
  const loaded = useLoaded(() => load(id).catch(reasonOf), [id, brief ?? state])
  const close = hashOf({ ...route, delivery: undefined, attempt: undefined, follow: false })
  return (
    <article class="delivery" aria-label="Delivery">
      <a class="close" href={close} title="Back to the list (Escape)">
        <span aria-hidden="true">←</span> All deliveries
      </a>
      {typeof loaded === 'string' && <p class="nothing">{loaded}</p>}
      {typeof loaded === 'object' && <Whole {...loaded} route={route} state={state} />}
    </article>
  )
}

async function load(id: string): Promise<Loaded> {
  const path = `/deliveries/${encodeURIComponent(id)}`
  const [delivery, plan] = await Promise.all([
    get<DeliveryView>(path),
    get<{ data: readonly string[] }>(`${path}/plan`),
  ])
  return { delivery, planned: plan.data }
}

function Whole({ delivery, planned, route, state }: Loaded & Pick<DeliveryProps, 'route' | 'state'>) {
  const heading = useRef<HTMLHeadingElement>(null)
  // A user of the keyboard continues at the heading.
  useLayoutEffect(() => {
    if (!route.follow) heading.current?.focus({ preventScroll: true })
  }, [])
  const { attempts } = delivery
  const chosen = attempts.find(({ id }) => id === route.attempt) ?? attempts.at(-1)
  const endpoint = state.endpoints.find(({ id }) => id === delivery.endpoint)
  const assumed = state.status.assumptions.signature
  return (
    <>
      <div class="head">
        <h2 ref={heading} tabIndex={-1}>
          <Shown text={delivery.type} />
        </h2>
        <Badge status={delivery.status} />
        {delivery.subject && <Shown text={delivery.subject} />}
      </div>
      <p class="facts">
        <Id id={delivery.id} />
        <span>
          created <Moment at={delivery.created_at} />
        </span>
        <span class="to">
          to {delivery.url === null ? 'an endpoint that was removed' : <Shown text={delivery.url} />}
        </span>
      </p>
      <Actions delivery={delivery} attempt={chosen} endpoint={endpoint} route={route} />
      {delivery.reason !== undefined && chosen === undefined && (
        <section aria-label="Why" class="why bad">
          <h3>Why</h3>
          <p>{delivery.reason}</p>
        </section>
      )}
      {chosen !== undefined && route.attempt !== undefined && route.attempt !== chosen.id && (
        <p class="nothing">
          This delivery has no attempt <code>{route.attempt}</code>: the latest is shown.
        </p>
      )}
      {chosen !== undefined && (
        <>
          <Why delivery={delivery} attempt={chosen} />
          <Answer attempt={chosen} />
        </>
      )}
      <Axis delivery={delivery} planned={planned} chosen={chosen?.id} />
      <Attempts delivery={delivery} planned={planned} chosen={chosen?.id} route={route} />
      <Payload delivery={delivery} attempt={chosen} />
      {chosen !== undefined && (
        <Signature delivery={delivery} attempt={chosen} endpoint={endpoint} assumed={assumed} />
      )}
    </>
  )
}
