import { expect, test } from 'vitest'
import { isDebatable } from '../../service/scenario-verdicts.js'
import { controlFixture } from '../support/control-fixture.js'
import { answered } from '../support/http-sandbox.js'

/** The statuses of a receiver, request by request; the last one stays. */
test.each([
  ['valid', [200], 'passed'],
  ['valid', [500], 'wrong_answer'],
  ['duplicate', [200, 409], 'wrong_answer'],
  ['tampered-byte', [401], 'passed'],
  ['tampered-byte', [429], 'wrong_answer'],
  ['tampered-byte', [500], 'wrong_answer'],
  ['malformed-header', [400, 400, 200, 400], 'wrong_answer'],
  ['concurrent-burst', [503, 503, 200], 'passed'],
  ['concurrent-burst', [503], 'wrong_answer'],
  ['concurrent-burst', [200, 500], 'wrong_answer'],
  ['not-json', [500], 'passed'],
  ['unknown-kind', [404], 'wrong_answer'],
])('%s, answered %j, is %s', async (scenario, statuses, status) => {
  const sandbox = controlFixture()
  let count = 0
  sandbox.answerWith(() => answered(statuses[Math.min(count++, statuses.length - 1)] ?? 0))
  await sandbox.trigger({ scenario })
  expect(sandbox.service.engine.deliveries()).toMatchObject([{ status }])
})

test('an event that lacks created_at alone may be accepted', async () => {
  const sandbox = controlFixture()
  sandbox.answerWith(({ body }) =>
    answered(isDebatable('not-an-envelope', String(Buffer.from(body))) ? 200 : 500),
  )
  await sandbox.trigger({ scenario: 'not-an-envelope' })
  const [delivery] = sandbox.service.engine.deliveries()
  expect(delivery?.attempts.map(({ response }) => response?.status)).toContain(200)
  expect(delivery?.status).toBe('passed')
})
