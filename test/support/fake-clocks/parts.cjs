const secret = 'whsec_test'
const quiet = () => {}
const on = { 'order.created': quiet, 'event.published': quiet }

/** The steps of users of the kit and of the sandbox; each throws if it fails. */
const PARTS = {
  async signedDelivery({ testing, fetch }) {
    const delivery = await testing.signedDelivery('order.created', { secret })
    equal((await fetch.tixWebhooks({ secret, on })(delivery.toRequest('/hooks'))).status, 200)
  },
  async 'response.text()'({ testing, fetch }) {
    const delivery = await testing.signedDelivery('order.created', { secret })
    const response = await fetch.tixWebhooks({ secret, on })(delivery.toRequest('/hooks'))
    equal(await response.text(), '{"outcome":"handled"}')
  },
  scenarios: ({ testing, fetch }) => passed(testing.scenarios('event.published', { secret }), fetch),
  async deliverWithRetries({ testing, fetch }) {
    for (const clock of [undefined, testing.createTestClock()]) {
      const now = clock && { now: clock.now }
      let failures = 2
      const fail = () => {
        if (failures-- > 0) throw new Error('not yet')
      }
      const POST = fetch.tixWebhooks({ secret, ...now, on: { 'order.created': fail }, onError: quiet })
      const delivery = await testing.signedDelivery('order.created', { secret, ...now })
      const send = ({ toRequest }) => POST(toRequest('/hooks'))
      const attempts = await testing.deliverWithRetries(send, delivery, clock && { clock })
      equal(attempts.map(({ status }) => status).join(), '500,500,200')
    }
  },
  async callHandler({ testing }) {
    const handlers = { 'order.created': ({ data }) => data.order.id }
    const event = testing.sampleEvent('order.created')
    equal(await testing.callHandler(handlers, 'order.created', event), event.data.order.id)
  },
  async createTestClock({ testing }) {
    const clock = testing.createTestClock('2026-05-17T14:00:00Z')
    clock.advance(1000)
    equal(clock.now(), Date.UTC(2026, 4, 17, 14, 0, 1))
  },
  async interruptions({ main, testing, fetch }) {
    const all = await testing.interruptions({
      prepare: () => ({ store: main.memoryStore(), mails: new Set() }),
      start: ({ store, mails }, { now }) => {
        const handlers = { 'order.created': ({ data }) => void mails.add(data.order.id) }
        return fetch.tixWebhooks({ secret, now, store, namespace: 'shop', on: handlers })
      },
      delivery: await testing.signedDelivery('order.created', { secret }),
    })
    equal(all.length, 6)
    for (const { run } of all) equal((await run()).mails.size, 1)
  },
  async storeCases({ main, testing }) {
    const clock = testing.createTestClock()
    for (const { run } of testing.storeCases) {
      await run({
        create: async () => main.memoryStore({ now: clock.now }),
        advance: async (ms) => clock.advance(ms),
      })
    }
  },
  createSandbox: (modules) => deliveredAfterRetries(modules, {}),
  'createSandbox({ startAt })': (modules) =>
    deliveredAfterRetries(modules, { startAt: '2026-05-17T14:00:00Z' }),
  async 'sandbox.trigger of a scenario'({ sandbox: { createSandbox }, fetch }) {
    const sandbox = createSandbox({ secret, deliver: fetch.tixWebhooks({ secret, on, onError: quiet }) })
    for (const scenario of ['slow-body', 'duplicate', 'tampered-byte']) {
      const { attempts } = await sandbox.trigger('order.created', { scenario })
      const status = scenario === 'tampered-byte' ? 401 : 200
      for (const { response } of attempts) equal(response?.status, status)
    }
    await sandbox.close()
  },
  async 'sandbox.fetch'({ sandbox: { createSandbox } }) {
    const sandbox = createSandbox({ secret })
    equal((await sandbox.fetch('/_sandbox')).status, 200)
    await sandbox.close()
  },
  async 'sandbox.listen'({ sandbox: { createSandbox } }) {
    const sandbox = createSandbox({ secret })
    const url = await sandbox.listen()
    equal((await globalThis.fetch(`${url}/_sandbox`, { headers: { connection: 'close' } })).status, 200)
    await sandbox.close()
  },
}

async function passed(made, { tixWebhooks }) {
  let runs = 0
  const count = () => void runs++
  const POST = tixWebhooks({
    secret,
    on: { 'order.created': count, 'event.published': count },
    onError: quiet,
  })
  for (const { name, deliver, expect } of await made) {
    runs = 0
    for (const { status } of await deliver((delivery) => POST(delivery.toRequest('/hooks')))) {
      if (!expect.statuses.includes(status)) throw new Error(`${name} was answered ${status}`)
    }
    equal(`${name} ran ${runs}`, `${name} ran ${expect.runs}`)
  }
}

async function deliveredAfterRetries({ sandbox: { createSandbox }, fetch }, options) {
  let failures = 3
  const fail = () => {
    if (failures-- > 0) throw new Error('not yet')
  }
  const deliver = fetch.tixWebhooks({ secret, on: { 'order.created': fail }, onError: quiet })
  const sandbox = createSandbox({ secret, deliver, ...options })
  await sandbox.trigger('order.created')
  await sandbox.clock.advance('72h')
  const [{ status, attempts }] = sandbox.deliveries.list()
  equal(status, 'delivered')
  equal(attempts.map(({ response }) => response.status).join(), '500,500,500,200')
  equal(attempts.at(-1).response.body, '{"outcome":"handled"}')
  await sandbox.close()
}

function equal(got, wanted) {
  if (got !== wanted) throw new Error(`${wanted} was expected, and ${got} came`)
}

/**
 * Does each part in its turn.
 *
 * @param omitted the names of parts that are left out
 * @returns by name: `ok`, `hangs`, or the message of what was thrown
 */
exports.outcomes = async (modules, omitted = []) => {
  const outcomes = {}
  for (const [name, part] of Object.entries(PARTS)) {
    if (omitted.includes(name)) continue
    // What the parent finds if it has to end this process; a timer of ours may be a fake one.
    outcomes[name] = 'hangs'
    exports.report(outcomes)
    outcomes[name] = await part(modules).then(
      () => 'ok',
      (error) => String(error),
    )
  }
  return outcomes
}

/** Where the parent of this process looks. */
exports.report = (outcomes) => {
  require('node:fs').writeFileSync(process.env.OUTCOMES, JSON.stringify(outcomes))
}
