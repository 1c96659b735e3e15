import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { verifySignature } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/node'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../../../../test/support/free-port.js'
import { emptyFolder, listening, receiver, run } from '../../../support/cli.js'

const secret = 'whsec_trigger'
const signed = `--secret ${secret}`

/** Sends without a sandbox. */
const once = (url: string, argv = '') =>
  run(`trigger order.created --to ${url} ${signed} --json ${argv}`.trim())

describe('trigger without a sandbox', () => {
  test('signs a sample and sends it once, to the very URL', async () => {
    const { url, arrivals } = await receiver()
    const { code, records } = await once(url)
    expect(code).toBe(0)
    expect(arrivals).toHaveLength(1)
    const { body = '', headers, path } = arrivals[0] ?? {}
    const signature = headers?.['x-service-signature']
    expect(path).toBe('/hooks?a=1&b=2')
    await verifySignature(body, signature, { secret })
    const event = JSON.parse(String(body))
    const data = { order: { id: expect.stringMatching(/^ord_/) } }
    expect(event).toMatchObject({ type: 'order.created', data })
    expect(Math.abs(Date.parse(event.created_at) - Date.now())).toBeLessThan(60_000)
    expect(records()).toEqual([
      {
        kind: 'order.created',
        url,
        headers: { 'content-type': 'application/json', 'x-service-signature': signature },
        body: String(body),
        response: expect.objectContaining({ status: 200 }),
        duration_ms: expect.any(Number),
      },
    ])
  })

  test('sets values in the payload: JSON, else text', async () => {
    const { url, arrivals } = await receiver()
    await once(
      url,
      '--set data.order.total_cents=0 --set data.order.buyer_email=a=b@example.com --set data.tickets[0].tier="7"',
    )
    expect(JSON.parse(String(arrivals[0]?.body)).data).toMatchObject({
      order: { total_cents: 0, buyer_email: 'a=b@example.com' },
      tickets: expect.arrayContaining([expect.objectContaining({ tier: '7' })]),
    })
  })

  test('takes the whole data, of any kind, from a text, a file or the standard input', async () => {
    const { url, arrivals } = await receiver()
    const cwd = emptyFolder()
    writeFileSync(join(cwd, 'data.json'), '\ufeff{"from":"file"}')
    const send = (data: string, stdin = '') =>
      run(`trigger order.refunded --to ${url} ${signed} --data ${data}`, { cwd, stdin })
    await send('{"from":"text"}')
    await send('@data.json')
    await send('-', '{"from":"stdin"}')
    expect(arrivals.map(({ body }) => JSON.parse(String(body)))).toMatchObject([
      { type: 'order.refunded', data: { from: 'text' } },
      { type: 'order.refunded', data: { from: 'file' } },
      { type: 'order.refunded', data: { from: 'stdin' } },
    ])
  })

  test.each([
    ['duplicate', 3],
    ['tampered-byte', 4],
    ['slow-body', 1],
    ['concurrent-burst', 12],
  ])('plays the scenario %s against a receiver that withstands it', async (scenario, count) => {
    const hook = tixWebhooks({ secret, on: { 'order.created': () => {} }, onError: () => {} })
    const { url } = await listening(hook)
    const ran = await once(url, `--scenario ${scenario}`)
    expect(ran).toMatchObject({ code: 0, stderr: '' })
    expect(ran.records()).toHaveLength(count + 1)
    expect(ran.records()[0]).toMatchObject({ scenario })
    expect(ran.records().at(-1)).toEqual({ scenario, passed: true, expected: expect.any(String) })
  })

  test('does not blame the 409 to a copy on how events are told apart', async () => {
    const seen = new Set<string>()
    const { url } = await receiver(({ body }) => (seen.size < seen.add(String(body)).size ? 200 : 409))
    const ran = await once(url, '--scenario tied')
    const statuses = ran.records().map(({ response }) => (response as { status?: number })?.status)
    expect(statuses).toEqual([200, 200, 409, undefined])
    expect(ran.code).toBe(0)
  })

  test('fails where a scenario is not answered as it should be, and says how', async () => {
    const { url } = await receiver(() => 200)
    const { code, stdout, stderr } = await run(`trigger order.created --to ${url} ${signed} --scenario stale`)
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^--> order\.created\n<-- \[200\] POST \S+ stale \d+ m?s accepted, though it is a replay\nFAIL {2}stale; expected: each answered 4xx\n {6}It ACCEPTED A REPLAY\./,
    )
    expect(stderr).toBe('')
  })

  test('fails where nothing listens, and says so', async () => {
    const port = await freePort()
    const { code, stdout } = await run(`trigger order.created --to http://127.0.0.1:${port}/ ${signed}`)
    expect(code).toBe(1)
    expect(stdout).toContain(`<-- [ECONNREFUSED] POST http://127.0.0.1:${port}/`)
    expect(stdout).toContain('is your receiver running')
  })

  test('is broken off between two deliveries', async () => {
    const stopped = new AbortController()
    const { url, arrivals } = await receiver(() => {
      stopped.abort()
      return 200
    })
    const argv = `trigger order.created --to ${url} ${signed} --repeat 5`
    expect((await run(argv, { signal: stopped.signal })).code).toBe(130)
    expect(arrivals).toHaveLength(1)
  })

  test.each([
    ['order.created', /^There is no signing secret/],
    [
      `order.craeted ${signed}`,
      /^There is no kind "order\.craeted"\. Did you mean order\.created\? For an undocumented kind, give --data\.$/m,
    ],
    [`order.created ${signed} --scenario dupe`, /Did you mean duplicate\?/],
    [`order.refunded ${signed}`, /^data is missing: there are samples of order\.created/],
    [`order.created ${signed} --set data.order.totl_cents=0`, /^The payload has no data\.order\.totl_cents/],
    [`order.created ${signed} --data []`, /^--data must be a JSON object/],
    [`order.created ${signed} --data {`, /^--data is not valid JSON: .+\. Quote it for the shell/],
    [`order.created ${signed} --data -`, /^--data is not valid JSON: .+\. Correct it there\.$/m],
    [`order.created ${signed} --data @gone.json`, /^--data: there is no such file: gone\.json/],
    [`order.created ${signed} --scenario stael`, /Did you mean stale\?/],
    [`order.created ${signed} --scenario thin`, /^There is no thin of this order\.created/],
    [`order.created ${signed} --chain`, /^--chain needs a sandbox, and --to sends without one/],
    [`order.created ${signed} --no-wait`, /^--no-wait needs a sandbox/],
    [`order.created ${signed} --live`, /^--live needs a sandbox/],
    [`order.created ${signed} --sandbox http://127.0.0.1:1`, /^--sandbox needs a sandbox/],
    [`order.created ${signed} --repeat 0`, /^--repeat must be a whole number from 1 to 1000/],
    [` ${signed}`, /^KIND is empty/],
  ])('refuses %s', async (argv, message) => {
    const { url, arrivals } = await receiver()
    const { code, stderr } = await run(`trigger ${argv} --to ${url}`, { cwd: emptyFolder() })
    expect(code).toBe(2)
    expect(stderr).toMatch(message)
    expect(arrivals).toEqual([])
  })
})
