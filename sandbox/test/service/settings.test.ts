import { createSandbox, type SandboxOptions } from 'tix-webhooks-sandbox'
import { expect, test } from 'vitest'

test.each([new Map([['seed', 1]]), [1], Promise.resolve({ seed: 1 }), null, 'seed'])(
  'options that are not an object are refused: %o',
  (options) => {
    const make = () => createSandbox(options as SandboxOptions)
    expect(make).toThrow(/^The options must be an object of startAt,/)
  },
)

test.each<[Record<string, unknown>, RegExp]>([
  [
    { frozn: true },
    /^There is no option frozn\. Did you mean frozen\? The options are startAt, frozen, seed/,
  ],
  [{ assume: 'x' }, /^assume must be an object of assumptions/],
  [{ startAt: '2026-11-20' }, /^startAt is not a date/],
  [{ frozen: 'yes' }, /^frozen must be true or false\.$/],
  [{ seed: 2 ** 32 }, /^seed must be/],
  [{ deliver: 'http://localhost:3000' }, /^deliver must be a function \(request\) => response\.$/],
  [{ endpoints: { url: 'http://localhost' } }, /^endpoints must be a list such as/],
  [{ endpoints: [{ url: 'http://169.254.169.254/' }] }, /169\.254\.169\.254/],
  [{ endpoints: [{ url: 'http://localhost', secret: '' }] }, /secret/],
  [{ secret: ' whsec_x' }, /secret must not begin or end with white space/],
  [{ retry: 'often' }, /often/],
  [{ jitter: 0.6 }, /^jitter must be a number from 0 to 0\.5\.$/],
  [{ timeoutSeconds: -1 }, /^timeoutSeconds must be a number of seconds from 0/],
  [{ assume: { signature: 'comma' } }, /^The assumption signature is one of dot, concat, body/],
  [{ chaos: { duplicate: 2 } }, /duplicate/],
  [{ keys: ['secret'] }, /^keys must be a list of API keys, which begin with sk_test_ or sk_live_\.$/],
  [{ rateLimit: { requests: 0, perSeconds: 1 } }, /^rateLimit must be an object such as/],
  [{ allowHosts: 'tickets.test' }, /^allowHosts must be a list of host names\.$/],
  [{ stateFile: ' ' }, /^stateFile must be the path of a file\.$/],
  [{ signingClock: 'sun' }, /^signingClock must be "real" or "virtual"\.$/],
  [{ onWarning: true }, /^onWarning must be a function/],
])('the option %j is refused by name', (options, message) => {
  const make = () => createSandbox(options as SandboxOptions)
  expect(make).toThrow(TypeError)
  expect(make).toThrow(message)
})

test('the option secret is for each endpoint without its own, even if it is added later', async () => {
  const [first, own] = [{ url: 'http://localhost/1' }, { url: 'http://localhost/2', secret: 'whsec_own' }]
  const sandbox = createSandbox({ secret: 'whsec_shared', endpoints: [first, own] })
  sandbox.endpoints.create({ url: 'http://localhost/3' })
  sandbox.endpoints.create({ url: 'http://localhost/4', secret: 'whsec_other' })
  await sandbox.fetch('/_sandbox/endpoints', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'http://localhost/5' }),
  })
  const secrets = sandbox.endpoints.list().map(({ secrets: [secret] }) => secret?.slice(6))
  expect(secrets).toEqual(['shared', 'own', 'shared', 'other', 'shared'])
  await sandbox.close()
})
