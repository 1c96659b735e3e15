import * as z from 'zod'
import type { Page } from '../domain/collection.js'
import { NOT_SHOWN } from '../domain/resources.js'

/** The schema of a page of a list. */
export function listOf(item: z.ZodType): z.ZodType {
  return z
    .strictObject({
      object: z.literal('list'),
      url: z.string().meta({ description: 'The path of the list' }),
      has_more: z.boolean().meta({ description: 'Whether there is more in the direction of travel' }),
      data: z.array(item),
    })
    .meta(NOT_SHOWN)
}

/** @param path that of the list, such as `/v2/events` */
export function presentList({ data, hasMore }: Page<object>, path: string): object {
  return { object: 'list', url: path, has_more: hasMore, data }
}
