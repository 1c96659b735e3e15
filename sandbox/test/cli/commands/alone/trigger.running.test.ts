/** @module-tag slow */
import { memoryFailures } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/node'
import { describe, expect, test } from 'vitest'
import { listening, receiver, run, sandbox } from '../../../support/cli.js'

const secret = 'whsec_trigger'

describe('trigger in a sandbox', () => {
  test('makes what it is about, so that the API knows it, and sends that kind alone', async () => {
    const { url, arrivals } = await receiver()
    const { json, ready } = await sandbox(`--to ${url}`)
    await json('trigger', 'event.cancelled', '--wait')
    expect(arrivals.map(({ body }) => JSON.parse(String(body)).type)).toEqual(['event.cancelled'])
    const { id } = JSON.parse(String(arrivals[0]?.body)).data.event
    const headers = { authorization: `bearer ${ready.key}` }
    const known = await fetch(`${ready.api_url}/events/${id}`, { headers })
    expect(await known.json()).toMatchObject({ id, status: 'cancelled' })
  })

  test('sends what had to be made first, too, where it is asked to', async () => {
    const { url, arrivals } = await receiver()
    const { json } = await sandbox(`--to ${url} --serial`)
    await json('trigger', 'order.created', '--chain', '--wait', '--set', 'data.order.total_cents=1')
    const events = arrivals.map(({ body }) => JSON.parse(String(body)))
    expect(events.map(({ type }) => type)).toEqual(['event.published', 'order.created'])
    expect(events[1].data.order.total_cents).toBe(1)
  })

  test('does not wait with --no-wait, prints no answer, and says where to read it', async () => {
    const { url } = await receiver()
    const { run: runHere } = await sandbox(`--to ${url}`)
    const { code, stdout, stderr } = await runHere('trigger order.created --no-wait')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^--> order\.created \[dlv_\w+\]\n$/)
    expect(stderr).toMatch(/^See the answer: tix-webhooks deliveries show dlv_\w+\n$/)
    const several = await runHere('trigger order.created --repeat 3 --no-wait')
    expect(several.stderr).toBe('See the answers: tix-webhooks deliveries --limit 3\n')
  })

  test('says of a parked event that it is not handled, and fails, though the service counts it as delivered', async () => {
    const failures = memoryFailures()
    const fail = (): never => {
      throw new Error('no printer')
    }
    const options = {
      secret,
      on: { 'order.created': fail },
      failures,
      namespace: 'orders',
      parkAfter: { attempts: 1 },
    }
    const { url } = await listening(tixWebhooks({ ...options, onError: () => {} }))
    const { run: runHere, json } = await sandbox(`--to ${url} --secret ${secret}`)
    const resend = async () => ['resend', String((await json('deliveries'))[0]?.id)]
    const said = /<-- \[200\] parked POST .+\n {4}Your receiver parked it: it is not handled/
    for (const argv of [
      () => ['trigger', 'order.created'],
      () => ['trigger', 'order.created', '--to', url, '--secret', secret],
      resend,
    ]) {
      const { code, stdout } = await runHere(await argv())
      expect([code, stdout]).toEqual([1, expect.stringMatching(said)])
    }
    expect(await json('deliveries')).toMatchObject([{ status: 'delivered' }])
    expect((await runHere('deliveries')).stdout).toMatch(/ delivered +\d +200 parked /)
    const unusable = await runHere('trigger order.created --scenario not-json')
    expect(unusable.code).toBe(0)
    expect(unusable.stdout).toMatch(/<-- \[200\] parked POST .+ kept, as it should be$/m)
  })

  test.each([[], ['--wait']])(
    'says what was answered and what to do, once, and fails where that was no success: %j',
    async (...argv) => {
      const { url } = await receiver(() => 503)
      const { run: runHere } = await sandbox(`--to ${url}`)
      const { code, stdout } = await runHere(['trigger', 'order.created', '--repeat', '2', ...argv])
      expect(code).toBe(1)
      expect(stdout.match(/^--> order\.created \[dlv_\w+\]\n<-- \[503\] POST \S+ \d+ m?s$/gm)).toHaveLength(2)
      expect(
        stdout.match(/^ {4}Your receiver asks for a retry later: its log has the reason\.$/gm),
      ).toHaveLength(1)
    },
  )

  test('does not blame the secret alone for a 401 of the app itself', async () => {
    const { url } = await receiver(() => ({ status: 401, body: '<p>Please log in</p>' }))
    const { run: runHere } = await sandbox(`--to ${url}`)
    const { stdout } = await runHere('trigger order.created')
    expect(stdout).toMatch(
      /\n {4}answered: <p>Please log in<\/p>\n {4}401 from something other than tix-webhooks: does a login, .+ in front of \/hooks\?/,
    )
  })

  test('plays a scenario against each endpoint, and judges the answers of each', async () => {
    const { url: good } = await receiver(() => 401)
    const { url: bad } = await receiver(() => 200)
    const { run: runHere } = await sandbox(`--to ${good} --to ${bad}`)
    const { code, records } = await runHere('trigger order.created --scenario stale --json')
    expect(records().filter(({ url }) => url === good)).toMatchObject([
      { scenario: 'stale', trigger: 'scenario', response: { status: 401 } },
    ])
    expect(records().filter(({ passed }) => passed !== undefined)).toEqual(
      expect.arrayContaining([
        { scenario: 'stale', passed: true, expected: 'each answered 4xx' },
        {
          scenario: 'stale',
          passed: false,
          expected: 'each answered 4xx',
          advice: expect.stringMatching(/^It ACCEPTED A REPLAY/),
        },
      ]),
    )
    expect(code).toBe(1)
  })

  test.each([
    ['wrong-secret', 401, 0, /refused, as it should be\nok {4}wrong-secret: each answered 4xx, as it should/],
    ['wrong-secret', 200, 1, /accepted, though it is a forgery\nFAIL {2}wrong-secret; expected/],
    ['valid', 200, 0, / m?s\nok {4}valid: each answered 2xx, as it should be\n$/],
    ['valid', 500, 1, /its log has the reason\.\nFAIL {2}valid; expected: each answered 2xx\n$/],
    ['valid', 401, 1, /is its secret the one that ends in .+\nFAIL {2}valid/],
    ['not-json', 500, 0, /not acknowledged, as it should be\nok {4}not-json: none answered 2xx/],
    ['not-json', 200, 1, /acknowledged, though it is unusable\nFAIL {2}not-json/],
  ])('judges %s that is answered %i with %i', async (scenario, status, code, says) => {
    const { url } = await receiver(() => status)
    const { run: runHere } = await sandbox(`--to ${url}`)
    const ran = await runHere(`trigger order.created --scenario ${scenario} --wait`)
    expect(ran).toMatchObject({ code, stderr: '' })
    expect(ran.stdout).toMatch(says)
    expect(/is its secret the one/.test(ran.stdout)).toBe(scenario === 'valid' && status === 401)
  })

  test.each([
    [[], 1],
    [['--no-wait'], 0],
  ])('reports that no endpoint takes the kind: with %j, exit code %i', async (argv, expected) => {
    const { run: runHere } = await sandbox('--to http://127.0.0.1:9')
    const { code, stdout, stderr } = await runHere(['trigger', 'order.created', '--live', ...argv])
    expect(code).toBe(expected)
    expect(stdout).toMatch(/^--> order\.created \[msg_\w+\]\n$/)
    expect(stderr).toBe(
      'No endpoint takes order.created. Add one with: tix-webhooks endpoints add URL --live\n',
    )
  })

  test('names both alternatives if no sandbox runs', async () => {
    const { code, stderr } = await run('trigger order.created')
    expect(code).toBe(3)
    expect(stderr).toBe(
      'No sandbox is running. Start one with: tix-webhooks sandbox. To send once without one: --to URL\n',
    )
  })
})
