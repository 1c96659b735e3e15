import { expect, test } from 'vitest'
import { controlFixture, told } from '../../support/http-sandbox.js'

const LONG = `http://127.0.0.1/${'x'.repeat(5000)}`
const ORDER = { kind: 'order.created' }
const FILLED = {
  title: 'Filled',
  doors_at: '2026-12-01T19:00:00Z',
  tickets: [{ name: 'GA', price_cents: 100, quantity: 5 }],
}

/** Sends a request to the control, which must change nothing. */
async function refused(request: string, body?: object) {
  const sandbox = controlFixture()
  await sandbox.trigger()
  const [delivery] = sandbox.service.engine.deliveries()
  const size = () => [
    sandbox.service.accounts.test.counts(),
    sandbox.service.engine.endpoints(),
    sandbox.service.engine.deliveries(),
    sandbox.service.clock.now(),
    sandbox.sent.length,
  ]
  const before = structuredClone(size())
  const [method = '', path] = request
    .replace('ENDPOINT', sandbox.endpoint.id)
    .replace('DELIVERY', String(delivery?.id))
    .split(' ')
  const answer = await sandbox.call(method, `/_sandbox${path}`, { body })
  expect(size()).toEqual(before)
  return answer
}

test.each<[string, object, param: string]>([
  ['POST /endpoints', {}, 'url'],
  ...[
    5,
    'nonsense',
    'ftp://127.0.0.1/',
    'http://127.0.0.1/\nhooks',
    'http://8.8.8.8/hooks',
    'http://169.254.169.254/latest',
    'http://[::ffff:a9fe:a9fe]/',
    LONG,
  ].map((url): [string, object, string] => ['POST /endpoints', { url }, 'url']),
  ['POST /endpoints', { url: 'http://127.0.0.1/', events: [] }, 'events'],
  ['POST /endpoints', { url: 'http://127.0.0.1/', events: 'order.created' }, 'events'],
  ['POST /endpoints', { url: 'http://127.0.0.1/', events: ['order.create'] }, 'events[0]'],
  ['POST /endpoints', { url: 'http://127.0.0.1/', events: ['event.*', 'orders.*'] }, 'events[1]'],
  ['POST /endpoints', { url: 'http://127.0.0.1/', enabled: 'yes' }, 'enabled'],
  ['POST /endpoints', { url: 'http://127.0.0.1/', mode: 'prod' }, 'mode'],
  ['POST /endpoints', { url: 'http://127.0.0.1/', kinds: ['*'] }, 'kinds'],
  ['PATCH /endpoints/ENDPOINT', { mode: 'live' }, 'mode'],
  ['PATCH /endpoints/ENDPOINT', { id: 'we_other' }, 'id'],
  ['PATCH /endpoints/ENDPOINT', { url: 'http://127.0.0.1/hooks\n' }, 'url'],
  ['PATCH /endpoints/ENDPOINT', { url: 'http://8.8.8.8/' }, 'url'],
  ['PATCH /endpoints/ENDPOINT', { events: ['nope'] }, 'events[0]'],
])('[N144] %s refuses %j', async (request, body, param) => {
  const isUnknown = param === 'kinds' || param === 'id' || (param === 'mode' && request.startsWith('PATCH'))
  const code = Object.keys(body).length === 0 ? 'missing' : isUnknown ? 'unknown' : 'invalid'
  const answer = await refused(request, body)
  expect(told(answer)).toEqual([400, `parameter_${code}`])
  expect(answer.json()).toMatchObject({ error: { param } })
})

test.each<[string, code: string, ...bodies: object[]]>([
  ['POST /endpoints/ENDPOINT/rotate', 'parameter_unknown', { keepOld: false }],
  ['POST /endpoints/ENDPOINT/rotate', 'parameter_invalid', { secret: '' }],
  ['POST /clock', 'parameter_invalid', {}, { advance: '1h', run: true }, { freeze: false }, { to: 5 }],
  [
    'POST /clock',
    'parameter_invalid',
    { advance: '72' },
    { advance: '-1h' },
    { advance: -1 },
    { advance: 'soon' },
  ],
  ['POST /clock', 'parameter_invalid', { advance: null }, { advance: '1000000d' }, { advance: 1e300 }],
  [
    'POST /clock',
    'parameter_invalid',
    { to: 'tomorrow' },
    { to: '2026-12-01' },
    { to: '2026-12-01T10:00:00' },
  ],
  ['POST /clock', 'parameter_invalid', { to: '9999-12-31T23:59:59Z' }],
  ['POST /clock', 'parameter_unknown', { forward: '1h' }],
  ['POST /trigger', 'parameter_missing', {}, { kind: 'order.refunded' }],
  ['POST /trigger', 'parameter_invalid', { kind: '' }, { ...ORDER, repeat: 0 }, { ...ORDER, repeat: 1e9 }],
  ['POST /trigger', 'parameter_invalid', { ...ORDER, mode: 'prod' }, { ...ORDER, data: [] }],
  ['POST /trigger', 'parameter_unknown', { ...ORDER, payload: {} }],
  ['POST /trigger', 'parameter_', { ...ORDER, set: { 'data.order.totals': 0 } }],
  ['POST /fill', 'parameter_', { evens: [] }, { events: [{ title: 'x' }] }],
  [
    'POST /fill',
    'resource_missing',
    { events: [{ ...FILLED, status: 'on_sale', orders: [{ tier: 'VIP', quantity: 1 }] }] },
  ],
  ['POST /deliveries/DELIVERY/resend', 'parameter_invalid', { to: 'nonsense' }, { to: LONG }, { to: 5 }],
  [
    'POST /deliveries/DELIVERY/resend',
    'parameter_invalid',
    { to: 'http://8.8.8.8/' },
    { to: 'ftp://127.0.0.1/' },
  ],
  ['POST /deliveries/DELIVERY/resend', 'parameter_unknown', { at: 'http://127.0.0.1/' }],
  [
    'POST /resend',
    'parameter_invalid',
    {},
    { failed: false },
    { since: 'yesterday' },
    { failed: true, to: 'nonsense' },
  ],
  ['POST /resend', 'parameter_unknown', { all: true }],
  ['POST /reset', 'parameter_unknown', { all: true }],
])('%s is answered with %s: %j', async (request, code, ...bodies) => {
  for (const body of bodies) {
    expect(told(await refused(request, body))).toEqual([400, expect.stringMatching(`^${code}`)])
  }
})

test.each([
  '/deliveries?status=lost',
  '/deliveries?limit=0',
  '/deliveries?limit=1001',
  '/deliveries?limit=x',
  '/deliveries?type=a&type=b',
  '/deliveries?kind=order.created',
  '/orders?refunded=yes',
  '/requests?limit=0',
  '/requests?limit=501',
  '/requests?limit=',
  '/requests?status=200',
  '/state?brief=no',
  '/stream?limit=0',
])('GET %s is refused', async (path) => {
  const code = /kind=|requests.status=/.test(path) ? 'parameter_unknown' : 'parameter_invalid'
  expect(told(await refused(`GET ${path}`))).toEqual([400, code])
})
