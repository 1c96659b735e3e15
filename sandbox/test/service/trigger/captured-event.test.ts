import { tixWebhooks } from 'tix-webhooks/fetch'
import { createSandbox } from 'tix-webhooks-sandbox'
import { expect, onTestFinished, test } from 'vitest'
import { SECRET } from '../../../../test/support/deliveries.js'
import { httpSandbox } from '../../support/http-sandbox.js'

/** An event as an editor may save it: with blanks, an unknown field, another offset, and a line break at its end. */
const CAPTURED =
  '{ "type": "order.created", "created_at": "2026-05-17T16:02:11+02:00", "livemode": true,\n  "data": {"order": {"id": "ord_7", "total_cents": 1, "buyer_email": "a@b.example"}, "tickets": []} }\n'

function open() {
  const bodies: string[] = []
  const receive = tixWebhooks({ secret: SECRET, on: { 'order.created': () => {} } })
  const sandbox = createSandbox({
    secret: SECRET,
    async deliver(request) {
      bodies.push(await request.clone().text())
      return receive(request)
    },
  })
  onTestFinished(() => sandbox.close())
  return { sandbox, bodies }
}

test('[N150] a captured envelope is sent as it is, signed, and makes nothing', async () => {
  const { sandbox, bodies } = open()
  await sandbox.trigger('order.created', { event: CAPTURED })
  expect(bodies).toEqual([CAPTURED])
  expect(sandbox.deliveries.list()).toMatchObject([{ status: 'delivered', message: { body: CAPTURED } }])
  expect(sandbox.account.listEvents().data).toEqual([])
})

test('[N150] the control API needs no kind beside a captured event', async () => {
  const sandbox = httpSandbox()
  sandbox.service.engine.createEndpoint({ url: 'http://127.0.0.1:9/hooks' })
  const body = { event: CAPTURED, repeat: 2, wait: true }
  expect((await sandbox.call('POST', '/_sandbox/trigger', { body })).status).toBe(201)
  expect(sandbox.sent.map((request) => String(request.body))).toEqual([CAPTURED, CAPTURED])
})

const withField = (field: object) =>
  JSON.stringify({ type: 'order.created', created_at: '2026-05-17T14:02:11Z', data: {}, ...field })
const event = withField({})

test.each([
  [{}, 'parameter_missing', /kind, or a captured event/],
  [{ event: 'not json' }, 'parameter_invalid', /It is not JSON/],
  [{ event: '[]' }, 'parameter_invalid', /body of a webhook/],
  [{ event: withField({ type: 1 }) }, 'parameter_invalid', /type is wrong/],
  [{ event: withField({ created_at: 'today' }) }, 'parameter_invalid', /created_at is wrong/],
  [{ event: withField({ data: [] }) }, 'parameter_invalid', /data is wrong/],
  [{ event, kind: 'event.published' }, 'parameter_invalid', /Its type is .*order\.created/],
  [{ event, set: { 'data.a': 1 } }, 'parameter_conflict', /sent as it is/],
  [{ event, data: {} }, 'parameter_conflict', /sent as it is/],
  [{ event, chain: true }, 'parameter_conflict', /sent as it is/],
])('[N150] %j is refused', async (body, code, message) => {
  const sandbox = httpSandbox()
  const answer = await sandbox.call('POST', '/_sandbox/trigger', { body })
  expect([answer.status, answer.code]).toEqual([400, code])
  expect(answer.text).toMatch(message)
  expect(sandbox.service.engine.deliveries()).toEqual([])
})
