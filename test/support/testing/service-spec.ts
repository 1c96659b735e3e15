import type { JsonObject, JsonValue } from 'tix-webhooks'

/** The faults of a value, by the path to it. */
type Check = (value: JsonValue | undefined, path: string) => string[]

const check =
  (what: string, holds: (value: JsonValue | undefined) => boolean): Check =>
  (value, path) =>
    holds(value) ? [] : [`${path} is not ${what}`]

const matching = (what: string, pattern: RegExp): Check =>
  check(what, (value) => typeof value === 'string' && pattern.test(value))

const dated = (what: string, pattern: RegExp): Check =>
  check(what, (value) => typeof value === 'string' && pattern.test(value) && !Number.isNaN(Date.parse(value)))

const oneOf = (...values: string[]): Check =>
  check(`one of ${values.join(', ')}`, (value) => values.includes(value as string))

const text = check('a string', (value) => typeof value === 'string')
const count = check('a whole number, 0 or more', (value) => Number.isSafeInteger(value) && Number(value) >= 0)
const email = matching('an email address', /^[^\s@]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)+$/)
const utc = dated('ISO 8601 UTC', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
const withOffset = dated('ISO 8601 with an offset', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/)
const url = check('a URL', (value) => typeof value === 'string' && URL.canParse(value))
const id = (prefix: string): Check => matching(`an id ${prefix}…`, new RegExp(`^${prefix}[0-9A-Za-z]+$`))

/** An object with these fields, all of them and no others. */
function fields(checks: Readonly<Record<string, Check>>): Check {
  return (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return [`${path} is not an object`]
    const undocumented = Object.keys(value).filter((name) => !Object.hasOwn(checks, name))
    return [
      ...undocumented.map((name) => `${path}.${name} is not documented`),
      ...Object.entries(checks).flatMap(([name, one]) => one(value[name], `${path}.${name}`)),
    ]
  }
}

const list =
  (element: Check): Check =>
  (value, path) =>
    Array.isArray(value)
      ? value.flatMap((one, index) => element(one, `${path}[${index}]`))
      : [`${path} is not an array`]

/** Section 2.1. */
const TICKETED_EVENT = fields({
  id: id('evt_'),
  title: matching('a title without HTML', /^[^<]+$/),
  slug: matching('a slug', /^[a-z0-9-]+$/),
  url,
  status: oneOf('draft', 'on_sale', 'sold_out', 'past', 'cancelled'),
  venue_id: id('ven_'),
  doors_at: withOffset,
  ends_at: withOffset,
  description_md: text,
  image_url: url,
  capacity: count,
  sold: count,
  gross_cents: count,
  refund_policy: oneOf('anytime', 'refundable_24h', 'refundable_7d', 'final', 'exchange_only'),
  transferable: check('a boolean', (value) => typeof value === 'boolean'),
  created_at: utc,
  updated_at: utc,
})

/** Sections 2.3 and 6. The payloads of `event.*` are not documented: ours are those of the samples. */
const DATA: Readonly<Record<string, Check>> = {
  'order.created': fields({
    order: fields({ id: id('ord_'), total_cents: count, buyer_email: email }),
    tickets: list(fields({ id: id('tik_'), tier: text })),
  }),
  'event.published': fields({ event: TICKETED_EVENT }),
  'event.cancelled': fields({ event: TICKETED_EVENT }),
  'event.rescheduled': fields({
    event: TICKETED_EVENT,
    previous_attributes: fields({ doors_at: withOffset, ends_at: withOffset }),
  }),
}

/** Differences of an event from the service's specification, which is written down here a second time. */
export function specFaults(event: object): string[] {
  const { type } = event as { type: string }
  const data = DATA[type]
  if (data === undefined) return [`${type} is not documented`]
  return fields({ type: text, created_at: utc, data })(event as JsonObject, 'event')
}
