import { expect, test } from 'vitest'
import { httpSandbox, told } from '../../support/http-sandbox.js'

const URL_ONE = 'http://127.0.0.1:3000/hooks'

function stage() {
  const sandbox = httpSandbox()
  const at = (path: string) => `/_sandbox/endpoints${path}`
  return {
    ...sandbox,
    create: (body: object = {}) => sandbox.call('POST', at(''), { body: { url: URL_ONE, ...body } }),
    get: async (path = '') => (await sandbox.call('GET', at(path))).json<unknown>(),
    patch: (id: unknown, body: object) => sandbox.call('PATCH', at(`/${id}`), { body }),
    rotate: (id: unknown, body: object = {}) => sandbox.call('POST', at(`/${id}/rotate`), { body }),
    remove: (id: unknown) => sandbox.call('DELETE', at(`/${id}`)),
  }
}

test('[S87] [N119] POST creates one, with a secret', async () => {
  const { create, get } = stage()
  const answer = await create()
  const endpoint = {
    id: expect.stringMatching(/^we_[0-9A-Za-z]{20}$/),
    url: URL_ONE,
    events: ['*'],
    secrets: [expect.stringMatching(/^whsec_\w+$/)],
    enabled: true,
    mode: 'test',
  }
  expect([answer.status, answer.json()]).toEqual([201, endpoint])
  expect(await get()).toEqual({ data: [endpoint] })
  expect(await get(`/${answer.json().id}`)).toEqual(endpoint)
})

test('PATCH changes what is given, and nothing else', async () => {
  const { create, patch, get } = stage()
  const before = (await create({ secret: 'whsec_a' })).json()
  const changes = { url: 'http://localhost:4000/', events: ['event.*'], enabled: false }
  const answer = await patch(before.id, changes)
  expect([answer.status, answer.json()]).toEqual([200, { ...before, ...changes }])
  expect(await get(`/${before.id}`)).toEqual({ ...before, ...changes })
  expect((await patch(before.id, {})).json()).toEqual({ ...before, ...changes })
})

test('[N107] rotate has a new secret beside the old one, or alone', async () => {
  const { create, rotate } = stage()
  const { id } = (await create({ secret: 'whsec_a' })).json()
  expect((await rotate(id, { secret: 'whsec_b' })).json()).toMatchObject({ secrets: ['whsec_b', 'whsec_a'] })
  expect((await rotate(id)).json()).toMatchObject({ secrets: [expect.stringMatching(/^whsec_/), 'whsec_b'] })
  expect((await rotate(id, { secret: 'whsec_d', keep_old: false })).json()).toMatchObject({
    secrets: ['whsec_d'],
  })
})

test('DELETE removes it, once', async () => {
  const { create, remove, get } = stage()
  const { id } = (await create()).json()
  const answer = await remove(id)
  expect([answer.status, answer.text]).toEqual([204, ''])
  expect(await get()).toEqual({ data: [] })
  expect(told(await remove(id))).toEqual([404, 'resource_missing'])
})
