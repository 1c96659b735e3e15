/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../../engine/record/limits.js'
import { type CliSandbox, receiver, sandbox } from '../../../support/cli.js'
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

  test.each([
    ['--type order.created', 2],
    ['--type event.*', 1],
    ['--status delivered', 1],
    ['--status failed', 0],
    ['--limit 1', 1],
    ['--endpoint we_other', 0],
  ])('are chosen by %j', async (argv, count) => {
    const { json } = await withDeliveries()
    expect(await json('deliveries', ...argv.split(' '))).toHaveLength(count)
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
    expect(await json('deliveries', 'show', id)).toMatchObject([
      { id, attempts: [{ response: { status: 500 } }] },
    ])
  })

  test('are shown with the body of an attempt if it differs from the message', async () => {
    const { run, json } = await withDeliveries()
    await run('trigger order.created --scenario not-json')
    const [{ id = '', attempts = [] } = {}] = (await json('deliveries')) as {
      id: string
      attempts: { request: { body?: string } }[]
    }[]
    const { stdout } = await run(`deliveries show ${id}`)
    expect(attempts[0]?.request.body).toEqual(expect.any(String))
    for (const { request } of attempts) expect(stdout).toContain(`\n    > ${request.body}\n`)
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

  test('fail a CI job where one is listed, but not for what a scenario sent', async () => {
    const { url } = await receiver(() => 401)
    const { run } = await sandbox(`--to ${url} --freeze --retry 1s`)
    const failed = 'deliveries --status failed'
    for (const [argv, code] of [
      ['trigger order.created --scenario stale', 0],
      ['trigger order.created --wait', 0],
      ['advance 72h', 1],
    ] as const) {
      await run(argv)
      expect((await run(`${failed} --exit-code`)).code).toBe(code)
    }
    expect((await run(failed)).code).toBe(0)
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

  describe('fail a CI job though the failure is not listed', () => {
    const exitOf = async ({ run }: Pick<CliSandbox, 'run'>) => run('deliveries --status failed --exit-code')

    test('[N142] because so many came after it that it is no longer kept', async () => {
      lower(LIMITS, { settled: 20 })
      const running = await sandbox(
        '--to http://127.0.0.1:9 --events order.created --freeze --assume network-error=final',
      )
      await running.run('trigger order.created --wait')
      expect(await exitOf(running)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /^To see its attempts and the answers: tix-webhooks deliveries show dlv_\w+\n$/,
        ),
      })
      const [{ id = '' } = {}] = (await running.json('endpoints')) as { id: string }[]
      await running.run(`endpoints disable ${id}`)
      await running.run('trigger order.created --repeat 20 --no-wait')
      expect(await exitOf(running)).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining('1 older failed delivery is no longer kept, and so not listed: '),
      })
      expect(await running.json('status')).toMatchObject([{ deliveries: { failed: 1, skipped: 20 } }])
      await running.run('reset')
      expect(await exitOf(running)).toMatchObject({ code: 0 })
    })

    test('among scenarios, which have a list of their own', async () => {
      const { url } = await receiver(() => 401)
      const running = await sandbox(`--to ${url} --freeze --retry 1s`)
      await running.run('trigger order.created --wait')
      await running.run('advance 1h')
      await running.run('trigger order.created --scenario not-json --repeat 25')
      await running.run('trigger order.created --scenario valid')
      expect(await exitOf(running)).toMatchObject({ code: 1, stderr: expect.not.stringContaining('more') })
      const scenarios = await running.run('deliveries --status scenario --limit 30')
      expect(scenarios.stdout.match(/ passed /g)).toHaveLength(25)
      expect(scenarios.stdout.match(/ wrong answer /g)).toHaveLength(1)
      expect((await running.run('status')).stdout).toContain(
        'deliveries   0 pending, 0 retrying, 0 delivered, 1 failed, 0 skipped\nscenarios    25 passed, 1 wrong answer\n',
      )
    })

    test('because chaos came before each attempt of it', async () => {
      const { url } = await receiver(() => 500)
      const running = await sandbox(`--to ${url} --freeze --retry 1s --chaos duplicate=1`)
      await running.run('trigger order.created --wait')
      await running.run('advance 1h')
      expect(await exitOf(running)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^To see its attempts/),
      })
    })
  })

  test.each([
    ['--status sent', /^--status must be one of pending, retrying/],
    ['--limit 1001', /^--limit must be a whole number from 1 to 1000/],
    ['show dlv_x', /^There is no delivery "dlv_x"/],
    ['shwo dlv_x', /^There is no command deliveries shwo, only deliveries show\. Did you mean show\?/],
  ])('refuse %j', async (argv, message) => {
    const { run } = await sandbox()
    const { code, stderr } = await run(`deliveries ${argv}`)
    expect(code).toBe(2)
    expect(stderr).toMatch(message)
  })
})
