import * as z from 'zod'
import type { Page } from '../domain/collection.js'
import { NOT_SHOWN } from '../domain/resources.js'
import type { Assumptions } from '../service/assumptions.js'

/** A request for a list. */
interface ListRequest {
  /** Its path, such as `/v2/events`. */
  readonly path: string
  readonly query: URLSearchParams
  /** The base URL of the service, such as `http://127.0.0.1:4010`. */
  readonly baseUrl: string
}

/** How a list is written. */
export interface ListForm {
  schema(item: z.ZodType): z.ZodType
  /** The body of an answer. */
  write(page: Page<{ readonly id: string }>, request: ListRequest): unknown
}

const stripe: ListForm = {
  schema: (item) =>
    z
      .strictObject({
        object: z.literal('list'),
        url: z.string().meta({ description: 'The path of the list' }),
        has_more: z.boolean().meta({ description: 'Whether there is more in the direction of travel' }),
        data: z.array(item),
      })
      .meta(NOT_SHOWN),
  write: ({ data, hasMore }, { path }) => ({ object: 'list', url: path, has_more: hasMore, data }),
}

const links: ListForm = {
  schema: (item) =>
    z
      .strictObject({
        data: z.array(item),
        links: z.strictObject({ next: z.url().nullable(), previous: z.url().nullable() }),
      })
      .meta(NOT_SHOWN),
  write: ({ data, hasMore }, request) => {
    const goesBack = request.query.has('ending_before')
    const older = goesBack || hasMore
    const newer = goesBack ? hasMore : request.query.has('starting_after')
    return {
      data,
      links: {
        next: older ? pageUrl(request, 'starting_after', data.at(-1)) : null,
        previous: newer ? pageUrl(request, 'ending_before', data[0]) : null,
      },
    }
  },
}

const array: ListForm = {
  schema: (item) => z.array(item).meta(NOT_SHOWN),
  write: ({ data }) => data,
}

/** The form of a list, by the assumption of that name. */
export const LIST_FORMS: Readonly<Record<Assumptions['list'], ListForm>> = { stripe, links, array }

function pageUrl(
  { baseUrl, path, query }: ListRequest,
  cursor: 'starting_after' | 'ending_before',
  at: { readonly id: string } | undefined,
): string | null {
  if (at === undefined) return null
  const next = new URLSearchParams(query)
  next.delete('starting_after')
  next.delete('ending_before')
  next.set(cursor, at.id)
  return `${baseUrl}${path}?${next}`
}
