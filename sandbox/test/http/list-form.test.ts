import { expect, test } from 'vitest'
import { LIST_FORMS } from '../../http/list-form.js'

const request = (query: string) => ({
  path: '/v2/events',
  query: new URLSearchParams(query),
  baseUrl: 'http://127.0.0.1:4010',
})
const page = (ids: string, hasMore = false) => ({ data: [...ids].map((id) => ({ id })), hasMore })

test('[N60] [N66] as stripe, has what an assistant of lists needs', () => {
  expect(LIST_FORMS.stripe.write(page('ab', true), request('limit=2'))).toEqual({
    object: 'list',
    url: '/v2/events',
    has_more: true,
    data: [{ id: 'a' }, { id: 'b' }],
  })
})

test('[N66] as array, is the bare list', () => {
  expect(LIST_FORMS.array.write(page('ab', true), request(''))).toEqual([{ id: 'a' }, { id: 'b' }])
})

const at = 'http://127.0.0.1:4010/v2/events?'

test.each([
  ['the only page', '', page('ab'), null, null],
  ['the first of more', 'status=past', page('ab', true), `${at}status=past&starting_after=b`, null],
  ['the last one', 'limit=2&starting_after=x', page('ab'), null, `${at}limit=2&ending_before=a`],
  ['in the middle', 'starting_after=x', page('ab', true), `${at}starting_after=b`, `${at}ending_before=a`],
  ['back to the newest', 'ending_before=x', page('ab'), `${at}starting_after=b`, null],
  [
    'back to the middle',
    'ending_before=x',
    page('ab', true),
    `${at}starting_after=b`,
    `${at}ending_before=a`,
  ],
  ['beyond the end', 'starting_after=x', page(''), null, null],
  ['before the beginning', 'ending_before=x', page(''), null, null],
])('[N60] [N66] as links, leads on from %s', (_, query, given, next, previous) => {
  expect(LIST_FORMS.links.write(given, request(query))).toEqual({
    data: given.data,
    links: { next, previous },
  })
})
