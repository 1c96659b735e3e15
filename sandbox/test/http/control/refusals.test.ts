import { expect, test } from 'vitest'
import { controlFixture, told } from '../../support/http-sandbox.js'

const LONG = `http://127.0.0.1/${'x'.repeat(5000)}`
const ORDER = { kind: 'order.created' }
const TO = { url: 'http://127.0.0.1/' }

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

test.each<[string, code: string, param: string | undefined, ...bodies: object[]]>([
  ['POST /endpoints', 'missing', 'url', {}],
  [
    'POST /endpoints',
    'invalid',
    'url',
    { url: 5 },
    { url: 'ftp://127.0.0.1/' },
    { url: 'http://127.0.0.1/\nhooks' },
    { url: 'http://8.8.8.8/hooks' },
    { url: LONG },
  ],
  ['POST /endpoints', 'invalid', 'events', { ...TO, events: [] }, { ...TO, events: 'order.created' }],
  ['POST /endpoints', 'invalid', 'events[1]', { ...TO, events: ['event.*', 'orders.*'] }],
  ['POST /endpoints', 'invalid', 'enabled', { ...TO, enabled: 'yes' }],
  ['POST /endpoints', 'invalid', 'mode', { ...TO, mode: 'prod' }],
  ['POST /endpoints', 'unknown', 'kinds', { ...TO, kinds: ['*'] }],
  ['PATCH /endpoints/ENDPOINT', 'unknown', 'mode', { mode: 'live' }],
  ['PATCH /endpoints/ENDPOINT', 'invalid', 'url', { url: 'http://8.8.8.8/' }],
  ['PATCH /endpoints/ENDPOINT', 'invalid', 'events[0]', { events: ['nope'] }],
  ['POST /endpoints/ENDPOINT/rotate', 'unknown', 'keepOld', { keepOld: false }],
  ['POST /endpoints/ENDPOINT/rotate', 'invalid', undefined, { secret: '' }],
  ['POST /clock', 'invalid', undefined, {}, { advance: '1h', run: true }],
  ['POST /clock', 'invalid', 'freeze', { freeze: false }],
  [
    'POST /clock',
    'invalid',
    'advance',
    { advance: '72' },
    { advance: -1 },
    { advance: null },
    { advance: 1e300 },
  ],
  ['POST /clock', 'invalid', 'to', { to: 5 }, { to: '2026-12-01T10:00:00' }, { to: '9999-12-31T23:59:59Z' }],
  ['POST /clock', 'unknown', 'forward', { forward: '1h' }],
  ['POST /trigger', 'missing', 'data', { kind: 'order.refunded' }],
  ['POST /trigger', 'invalid', 'kind', { kind: '' }],
  ['POST /trigger', 'invalid', 'repeat', { ...ORDER, repeat: 0 }, { ...ORDER, repeat: 1e9 }],
  ['POST /trigger', 'invalid', 'mode', { ...ORDER, mode: 'prod' }],
  ['POST /trigger', 'unknown', 'payload', { ...ORDER, payload: {} }],
  ['POST /fill', 'invalid', '', { evens: [] }],
  [
    'POST /deliveries/DELIVERY/resend',
    'invalid',
    'to',
    { to: 'nonsense' },
    { to: LONG },
    { to: 5 },
    { to: 'http://8.8.8.8/' },
  ],
  ['POST /deliveries/DELIVERY/resend', 'unknown', 'at', { at: 'http://127.0.0.1/' }],
  ['POST /resend', 'invalid', undefined, {}],
  ['POST /resend', 'invalid', 'since', { since: 'yesterday' }],
  ['POST /resend', 'invalid', 'to', { failed: true, to: 'nonsense' }],
  ['POST /resend', 'unknown', 'all', { all: true }],
  ['POST /reset', 'unknown', 'all', { all: true }],
])('[N144] %s refuses as %s %s: %j', async (request, code, param, ...bodies) => {
  for (const body of bodies) {
    const answer = await refused(request, body)
    expect(told(answer)).toEqual([400, `parameter_${code}`])
    expect(answer.json<{ error: { param?: string } }>().error.param).toBe(param)
  }
})

test.each([
  '/deliveries?status=lost',
  '/deliveries?limit=0',
  '/deliveries?limit=1001',
  '/deliveries?type=a&type=b',
  '/deliveries?kind=order.created',
  '/orders?refunded=yes',
  '/requests?limit=501',
  '/requests?limit=',
  '/state?brief=no',
  '/stream?limit=0',
])('GET %s is refused', async (path) => {
  const code = path.includes('kind=') ? 'parameter_unknown' : 'parameter_invalid'
  expect(told(await refused(`GET ${path}`))).toEqual([400, code])
})
