import { expect, test } from 'vitest'
import * as z from 'zod'
import { listOf, presentList } from '../../http/list-form.js'

test('[N60] [N66] a list has what an assistant of lists needs, as its schema has it', () => {
  const page = { data: [{ id: 'a' }, { id: 'b' }], hasMore: true }
  const written = { object: 'list', url: '/v2/events', has_more: true, data: page.data }
  expect(presentList(page, '/v2/events')).toEqual(written)
  expect(listOf(z.strictObject({ id: z.string() })).parse(written)).toEqual(written)
})
