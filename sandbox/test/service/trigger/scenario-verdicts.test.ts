import { expect, test } from 'vitest'
import { isDebatable } from '../../../service/trigger/scenario-verdicts.js'
import { answered, controlFixture } from '../../support/http-sandbox.js'

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
