/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../../engine/record/limits.js'
import { receiver } from '../../../support/cli-receiver.js'
import { sandbox } from '../../../support/cli-sandbox.js'
import { lower } from '../../../support/lowered.js'

async function withDeliveries() {
  const { url } = await receiver(({ body }) =>
    String(body).includes('order.created')
      ? { status: 500, headers: { 'x-trace': 'abc' }, body: 'a fault\u001b[2J of mine' }
      : 200,
  )
  const running = await sandbox(`--to ${url} --freeze`)
  for (const kind of ['order.created', 'event.published', 'order.created']) {
    await running.run(`trigger ${kind} --wait`)
  }
  return { ...running, to: url }
}

describe('deliveries', () => {
  test('are listed, the newest first', async () => {
    const { run, to } = await withDeliveries()
    const { stdout } = await run('deliveries')
    const shown = stdout.replaceAll(/dlv_\w+/g, 'dlv_').replaceAll(/\d{4}-\S+Z/g, 'AT')
    expect(shown.replaceAll(/ {2,}/g, '  ')).toBe(
      [
        'DELIVERY  KIND  STATUS  ATTEMPTS  LAST  NEXT  CREATED  ENDPOINT',
        `dlv_  order.created  retrying  1  500  in 5 s  AT  ${to}`,
        `dlv_  event.published  delivered  1  200  AT  ${to}`,
        `dlv_  order.created  retrying  1  500  in 5 s  AT  ${to}`,
        '',
      ].join('\n'),
    )
  })

  test('are filtered, and limited', async () => {
    const { json } = await withDeliveries()
    const counts: Record<string, number> = {}
    for (const filter of ['--type event.*', '--status delivered', '--limit 1', '--endpoint we_other']) {
      counts[filter] = (await json('deliveries', ...filter.split(' '))).length
    }
    expect(counts).toEqual({
      '--type event.*': 1,
      '--status delivered': 1,
      '--limit 1': 1,
      '--endpoint we_other': 0,
    })
  })

  test('are shown whole, without control characters of their answers', async () => {
    const { run, json } = await withDeliveries()
    const [{ id = '', body = '' } = {}] = (await json('deliveries')) as { id: string; body: string }[]
    const { stdout } = await run(`deliveries show ${id}`)
    expect(stdout).toContain(`\n${body}\n`)
    expect(stdout).toMatch(/^attempt 1 \(by the schedule\) at \d{4}-/m)
    expect(stdout).toMatch(/^ {4}> x-service-signature: t=\d+,v1=/m)
    expect(stdout).toMatch(/^ {4}< x-trace: abc$/m)
    expect(stdout).toContain('    a fault\ufffd[2J of mine')
    // The body of an attempt that differs from the message is shown, too.
    await run('trigger order.created --scenario not-json')
    const [{ id: spoilt } = {}] = await json('deliveries')
    const [{ attempts } = {}] = (await json('deliveries', 'show', String(spoilt))) as {
      attempts: { request: { body: string } }[]
    }[]
    expect((await run(`deliveries show ${spoilt}`)).stdout).toContain(
      `\n    > ${attempts?.[0]?.request.body}\n`,
    )
  })

  test('say so where there are none', async () => {
    const { run } = await sandbox()
    expect(await run('deliveries')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'There are no deliveries yet. To make one: tix-webhooks trigger order.created\n',
    })
    expect((await run('deliveries --status failed')).stderr).toBe(
      'No delivery matches. To list all: tix-webhooks deliveries\n',
    )
    expect(await run('deliveries --quiet')).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })

  test('fail a CI job where one failed, but not for what a scenario sent', async () => {
    const { url } = await receiver(() => 401)
    const { run } = await sandbox(`--to ${url} --freeze --retry 1s`)
    const failed = 'deliveries --status failed'
    const codes: number[] = []
    for (const argv of ['trigger order.created --scenario stale', 'trigger order.created', 'advance 72h']) {
      await run(argv)
      codes.push((await run(`${failed} --exit-code`)).code)
    }
    await run('trigger order.created --scenario valid --repeat 25')
    codes.push((await run(`${failed} --exit-code`)).code, (await run(failed)).code)
    expect(codes).toEqual([0, 0, 1, 1, 0])
  })

  test('fail a CI job for what is parked, until it is handled', async () => {
    let body = '{"outcome":"parked"}'
    const { url } = await receiver(() => ({ status: 200, body }))
    const { run, json } = await sandbox(`--to ${url} --freeze --events order.created`)
    const ci = 'deliveries --status failed --exit-code'
    await run('trigger order.created --scenario valid')
    expect((await run(ci)).code).toBe(0)
    await run('trigger order.created --wait')
    expect(await run(ci)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(
        '\n1 was answered 2xx, but parked: it is not handled. To list the delivered ones: tix-webhooks deliveries --status delivered\n',
      ),
    })
    expect((await run(`${ci} --type event.*`)).code).toBe(0)
    expect((await run('deliveries --status retrying --exit-code')).code).toBe(0)
    body = '{"outcome":"duplicate"}'
    const [{ id = '' } = {}] = (await json('deliveries')) as { id: string }[]
    await run(`resend ${id}`)
    expect((await run(ci)).code).toBe(0)
  })

  test('fail a CI job though so many came after the failed one that it is no longer kept', async () => {
    lower(LIMITS, { settled: 20 })
    const { run, json } = await sandbox(
      '--to http://127.0.0.1:9 --events order.created --freeze --assume network-error=final',
    )
    const ci = 'deliveries --status failed --exit-code'
    await run('trigger order.created --wait')
    expect((await run(ci)).stderr).toMatch(
      /^To see its attempts and the answers: tix-webhooks deliveries show dlv_\w+\n$/,
    )
    const [{ id = '' } = {}] = (await json('endpoints')) as { id: string }[]
    await run(`endpoints disable ${id}`)
    await run('trigger order.created --repeat 20 --no-wait')
    expect(await run(ci)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('1 older failed delivery is no longer kept, and so not listed: '),
    })
  })
})

/** A sandbox with two deliveries that failed for good, and the next answers of its receiver, which are 500 otherwise. */
async function withFailures() {
  const answers: number[] = []
  const { url, arrivals } = await receiver(() => answers.shift() ?? 500)
  const running = await sandbox(`--to ${url} --freeze --retry 5s`)
  await running.run('trigger order.created --repeat 2 --wait')
  await running.json('advance', '1m')
  const ids = (await running.json('deliveries')).map(({ id }) => String(id))
  arrivals.length = 0
  return { ...running, ids, arrivals, answers }
}

describe('resend', () => {
  test('sends the deliveries that are named, with the same bytes', async () => {
    const { ids, json, arrivals, answers } = await withFailures()
    const before = await json('deliveries', 'show', ids[1] ?? '')
    answers.push(204, 204)
    const resent = await json('resend', ...ids)
    expect(resent).toMatchObject(
      ids.map((delivery) => ({ delivery, attempt: { trigger: 'manual', response: { status: 204 } } })),
    )
    expect(arrivals.map(({ body }) => String(body))).toContain(before[0]?.body)
  })

  test('sends all that failed, and fails where one fails again', async () => {
    const { run, answers } = await withFailures()
    answers.push(500, 204)
    const again = await run('resend --failed')
    expect(again.code).toBe(1)
    expect(again.stdout.match(/^<-- \[(500|204)\] POST \S+ \[dlv_\w+\] \d+ ms/gm)).toHaveLength(2)
    answers.push(204)
    expect((await run('resend --failed')).code).toBe(0)
    const stderr = 'There is nothing to resend.\n'
    expect(await run('resend --failed')).toMatchObject({ code: 0, stdout: '', stderr })
  })

  test('reports what it leaves out, and why nothing is left', async () => {
    const { run, json } = await withFailures()
    await run('trigger order.created --scenario valid')
    const [{ id = '' } = {}] = (await json('endpoints')) as { id: string }[]
    await run(`endpoints disable ${id}`)
    expect((await run('resend --failed')).stderr).toMatch(
      /^2 deliveries are left out: the endpoint is disabled\. To enable it: .+\n/,
    )
    expect((await run('resend --since 1h')).stderr).toMatch(
      /1 delivery is left out: sent by a scenario\. To resend one, name its id\.\n/,
    )
    await run(`endpoints remove ${id}`)
    expect((await run('resend --failed')).stderr).toMatch(
      /^2 deliveries are left out: the endpoint was removed, .+\n/,
    )
    expect((await run('resend --since 0s')).stderr).toMatch(
      /There is nothing to resend: --since counts back from the virtual time, which is \d{4}-/,
    )
  })
})
