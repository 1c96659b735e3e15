import { describe, expect, test } from 'vitest'
import { receiver, sandbox } from '../../../support/cli.js'

/** A sandbox with two deliveries that failed for good, and what makes its receiver well again. */
async function withFailures() {
  let status = 500
  const { url, arrivals } = await receiver(() => status)
  const running = await sandbox(`--to ${url} --freeze --retry 5s`)
  await running.run('trigger order.created --repeat 2 --wait')
  await running.json('advance', '1m')
  const ids = (await running.json('deliveries')).map(({ id }) => String(id))
  arrivals.length = 0
  const heal = (): void => {
    status = 204
  }
  return { ...running, ids, url, arrivals, heal }
}

describe('resend', () => {
  test('sends the deliveries that are named, with the same bytes', async () => {
    const { ids, json, arrivals, heal } = await withFailures()
    const before = await json('deliveries', 'show', ids[1] ?? '')
    heal()
    const resent = await json('resend', ...ids)
    expect(resent).toMatchObject(
      ids.map((delivery) => ({ delivery, attempt: { trigger: 'manual', response: { status: 204 } } })),
    )
    expect(arrivals.map(({ body }) => String(body))).toContain(before[0]?.body)
    expect((await json('deliveries')).map(({ status }) => status)).toEqual(['delivered', 'delivered'])
  })

  test('sends all that failed, and fails where one fails again', async () => {
    const { run, heal, arrivals } = await withFailures()
    const again = await run('resend --failed')
    expect(again.code).toBe(1)
    expect(again.stdout.match(/^<-- \[500\] POST \S+ \[dlv_\w+\] \d+ ms/gm)).toHaveLength(2)
    heal()
    expect((await run('resend --failed')).code).toBe(0)
    expect(arrivals).toHaveLength(4)
    expect(await run('resend --failed')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'There is nothing to resend.\n',
    })
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

  test.each([
    [[], /^Which deliveries\? Give their ids, --failed or --since 1h/],
    [['dlv_x', '--failed'], /^Give ids of deliveries, or --failed and --since, not both/],
    [['--since', '60'], /^--since 60 has no unit/],
    [['dlv_x'], /^There is no delivery "dlv_x"/],
    [['../reset'], /^There is no delivery "\.\.\/reset"/],
    [['--failed', '--to', 'nowhere'], /^--to "nowhere" is not an http or https URL/],
  ])('refuses %j', async (argv, message) => {
    const { run } = await sandbox()
    const { code, stdout, stderr } = await run(['resend', ...argv])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })
})
