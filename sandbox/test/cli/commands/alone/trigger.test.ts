/** @module-tag slow */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { answerTo, verifySignature } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { emptyFolder, receiver, run, sandbox } from '../../../support/cli.js'

const secret = 'whsec_trigger'

/** Sends without a sandbox. */
const once = (url: string, argv = '') =>
  run(`trigger order.created --to ${url} --secret ${secret} ${argv}`.trim())

describe('trigger without a sandbox', () => {
  test('signs a sample and sends it once, to the very URL', async () => {
    const { url, arrivals } = await receiver()
    const { code, records } = await once(url, '--json')
    expect(code).toBe(0)
    expect(arrivals).toHaveLength(1)
    const { body = '', headers, path } = arrivals[0] ?? {}
    const signature = headers?.['x-service-signature']
    expect(path).toBe('/hooks?a=1&b=2')
    await verifySignature(body, signature, { secret })
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
      '--set data.order.total_cents=0 --set data.order.buyer_email=a=b --set data.tickets[0].tier="7"',
    )
    expect(JSON.parse(String(arrivals[0]?.body)).data).toMatchObject({
      order: { total_cents: 0, buyer_email: 'a=b' },
      tickets: expect.arrayContaining([expect.objectContaining({ tier: '7' })]),
    })
  })

  test('takes the whole data, of any kind, from a text, a file or the standard input', async () => {
    const { url, arrivals } = await receiver()
    const cwd = emptyFolder()
    writeFileSync(join(cwd, 'data.json'), '\ufeff{"from":"file"}')
    for (const data of ['{"from":"text"}', '@data.json', '-']) {
      const argv = `trigger order.refunded --to ${url} --secret ${secret} --data ${data}`
      await run(argv, { cwd, stdin: '{"from":"stdin"}' })
    }
    expect(arrivals.map(({ body }) => JSON.parse(String(body)))).toMatchObject(
      ['text', 'file', 'stdin'].map((from) => ({ type: 'order.refunded', data: { from } })),
    )
  })

  test('does not blame the 409 to a copy on how events are told apart', async () => {
    const seen = new Set<string>()
    const { url } = await receiver(({ body }) => (seen.size < seen.add(String(body)).size ? 200 : 409))
    const ran = await once(url, '--json --scenario tied')
    const statuses = ran.records().map(({ response }) => (response as { status?: number })?.status)
    expect(statuses).toEqual([200, 200, 409, undefined])
    expect(ran.code).toBe(0)
  })

  test('fails where a scenario is not answered as it should be, and says how', async () => {
    const { url } = await receiver(() => 200)
    const { code, stdout } = await once(url, '--scenario stale')
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^--> order\.created\n<-- \[200\] POST \S+ stale \d+ m?s accepted, though it is a replay\nFAIL {2}stale; expected: each answered 4xx\n {6}It ACCEPTED A REPLAY\./,
    )
  })

  test('is broken off between two deliveries', async () => {
    const stopped = new AbortController()
    const { url, arrivals } = await receiver(() => {
      stopped.abort()
      return 200
    })
    const argv = `trigger order.created --to ${url} --secret ${secret} --repeat 5`
    expect((await run(argv, { signal: stopped.signal })).code).toBe(130)
    expect(arrivals).toHaveLength(1)
  })
})

describe('trigger in a sandbox', () => {
  test('sends what had to be made first, too, with --chain', async () => {
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
    const { url } = await receiver(() => answerTo({ outcome: 'parked' }))
    const { run: runHere, json } = await sandbox(`--to ${url} --secret ${secret}`)
    const says = /<-- \[200\] parked POST .+\n {4}Your receiver parked it: it is not handled/
    for (const ran of [
      await once(url),
      await runHere('trigger order.created'),
      await runHere(['resend', String((await json('deliveries'))[0]?.id)]),
    ]) {
      expect([ran.code, ran.stdout]).toEqual([1, expect.stringMatching(says)])
    }
    expect((await runHere('deliveries')).stdout).toMatch(/ delivered +\d +200 parked /)
  })

  test('says what was answered and what to do, once, and fails where that was no success', async () => {
    const { url } = await receiver((_, index) => (index === 0 ? 503 : 200))
    const { run: runHere } = await sandbox(`--to ${url} --freeze --serial`)
    const { code, stdout } = await runHere('trigger order.created --repeat 2')
    expect(code).toBe(1)
    expect(
      stdout.match(/^--> order\.created \[dlv_\w+\]\n<-- \[(503|200)\] POST \S+ \d+ m?s$/gm),
    ).toHaveLength(2)
    const hint = /^ {4}Your receiver asks for a retry later: its log has the reason\.$/gm
    expect(stdout.match(hint)).toHaveLength(1)
  })

  test('plays a scenario against each endpoint, and judges the answers of each', async () => {
    const { url: good } = await receiver(() => 401)
    const { url: bad } = await receiver(() => 200)
    const { run: runHere } = await sandbox(`--to ${good} --to ${bad}`)
    const { code, records } = await runHere('trigger order.created --scenario stale --json')
    expect(records().filter(({ url }) => url === good)).toMatchObject([
      { scenario: 'stale', trigger: 'scenario', response: { status: 401 } },
    ])
    const advice = expect.stringMatching(/^It ACCEPTED A REPLAY/)
    const judged = { scenario: 'stale', expected: 'each answered 4xx' }
    const judgements = records().filter(({ passed }) => passed !== undefined)
    expect(judgements).toHaveLength(2)
    expect(judgements).toContainEqual({ ...judged, passed: true })
    expect(judgements).toContainEqual({ ...judged, passed: false, advice })
    expect(code).toBe(1)
  })

  test.each([
    ['', 1],
    [' --no-wait', 0],
  ])('reports that no endpoint takes the kind: with "%s", exit code %i', async (argv, expected) => {
    const { run: runHere } = await sandbox('--to http://127.0.0.1:9')
    const { code, stdout, stderr } = await runHere(`trigger order.created --live${argv}`)
    expect(code).toBe(expected)
    expect(stdout).toMatch(/^--> order\.created \[msg_\w+\]\n$/)
    expect(stderr).toBe(
      'No endpoint takes order.created. Add one with: tix-webhooks endpoints add URL --live\n',
    )
  })
})
