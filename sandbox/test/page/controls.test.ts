import { expect, test } from 'vitest'
import { listening } from '../support/cli.js'
import { inBrowser, pageStage, useBrowser } from '../support/page-stage.js'

const KEY = { authorization: 'Bearer sk_test_a1b2' }

inBrowser('what is done in the page', () => {
  const browser = useBrowser()

  test('moves the time', async () => {
    const stage = await pageStage()
    stage.fail(true)
    await stage.sandbox.trigger('order.created')
    const { page } = await browser.open(stage)
    const clock = page.getByRole('group', { name: 'Clock' })
    expect(await clock.getByRole('time').first().innerText()).toContain('18:30:00')
    await clock.getByRole('button', { name: 'Run', exact: true }).click()
    await clock.getByRole('button', { name: 'Freeze', exact: true }).click()
    await clock.getByRole('button', { name: 'Run', exact: true }).waitFor()
    await clock.getByRole('button', { name: 'Next attempt' }).click()
    await expect.poll(() => stage.sandbox.deliveries.list()[0]?.attempts.length).toBe(2)
    await clock.getByRole('button', { name: '+1 hour' }).click()
    await expect.poll(() => stage.sandbox.deliveries.list()[0]?.attempts.length).toBe(5)
    await clock.getByRole('button', { name: '+72 hours' }).click()
    await expect.poll(() => stage.sandbox.deliveries.list()[0]?.status).toBe('failed')
    await page.getByRole('table', { name: 'Deliveries' }).getByText('failed', { exact: true }).waitFor()
    expect(await clock.getByRole('button', { name: 'Next attempt' }).getAttribute('aria-disabled')).toBe(
      'true',
    )
  })

  /** An advance that waits for an answer. */
  async function advancing() {
    const stage = await pageStage()
    const [endpoint] = stage.sandbox.endpoints.list()
    stage.fail(true)
    await stage.sandbox.trigger('order.created')
    const { url } = await listening(() => {})
    stage.sandbox.endpoints.update(String(endpoint?.id), { url })
    const { page } = await browser.open(stage)
    await page.getByRole('button', { name: '+72 hours' }).click()
    const progress = page.getByRole('progressbar', { name: 'Advance' })
    await progress.waitFor()
    return { stage, page, progress }
  }

  test('breaks an advance off that waits for an answer', async () => {
    const { stage, page, progress } = await advancing()
    await page.getByRole('button', { name: 'Stop' }).click()
    await progress.waitFor({ state: 'detached' })
    expect(new Date(stage.sandbox.clock.now()).toISOString()).toMatch(/^2026-11-22T18:30:0/)
  })

  test('ends an advance with all else by a reset, and says that alone', async () => {
    const { page, progress } = await advancing()
    await page.getByRole('button', { name: 'Reset' }).click()
    await page.getByRole('button', { name: 'Really? Reset' }).click()
    await progress.waitFor({ state: 'detached' })
    await page.getByRole('heading', { name: 'Nothing has been sent yet' }).waitFor()
    expect(await page.getByRole('status').allInnerTexts()).toContain('All data and deliveries are forgotten.')
  })

  test('triggers kinds and scenarios, with data that is checked first', async () => {
    const stage = await pageStage()
    const { page } = await browser.open(stage)
    const form = page.getByRole('form', { name: 'Trigger' })
    await form.getByLabel('Kind').selectOption('event.published')
    await form.getByRole('button', { name: 'Send' }).click()
    await expect.poll(() => stage.sandbox.deliveries.list()[0]?.message.type).toBe('event.published')

    await form.getByLabel('Scenario').selectOption('stale')
    await form.getByRole('button', { name: 'Send' }).click()
    await expect.poll(() => stage.sandbox.deliveries.list()[0]?.attempts[0]?.scenario).toBe('stale')

    await form.getByLabel('Scenario').selectOption('')
    await form.getByText('Edit its data').click()
    await form.getByRole('textbox').fill('{"event": ')
    await form.getByRole('button', { name: 'Send' }).click()
    await form.getByText(/^The data is not valid JSON/).waitFor()
    expect(stage.sandbox.deliveries.list()).toHaveLength(2)
    await form.getByRole('button', { name: 'Fill in' }).click()
    await expect.poll(() => form.getByRole('textbox').inputValue()).toMatch(/"title": "Harbour Jazz"/)
    await form.getByRole('button', { name: 'Send' }).click()
    await expect.poll(() => stage.sandbox.deliveries.list().length).toBe(3)
  })

  test('sells, reschedules and cancels, and shows the refund', async () => {
    const stage = await pageStage()
    await stage.sandbox.trigger('event.published')
    const { page } = await browser.open(stage, '#/events')
    await page.getByRole('button', { name: 'Sell 1 of general admission' }).click()
    await page.getByText(/^1 of 120 tickets sold/).waitFor()
    await page.getByRole('button', { name: /^Reschedule…/ }).click()
    await page.getByLabel('New doors, UTC').fill('2027-01-09T20:00')
    await page.getByRole('button', { name: /^Reschedule Harbour/ }).click()
    await expect.poll(() => stage.sandbox.deliveries.list()[0]?.message.type).toBe('event.rescheduled')
    await page.getByRole('button', { name: /^Cancel/ }).click()
    await page.getByRole('button', { name: /^Really\? Cancel/ }).click()
    await page.getByText('cancelled', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Orders' }).click()
    await page.getByRole('table', { name: 'Orders' }).getByText('refunded').waitFor()
    await page.getByText('Scan tokens and wallet links').click()
    expect(await page.getByRole('link', { name: /^wallet/ }).getAttribute('href')).toContain('/wallet/tik_')
  })

  test('adds, turns off, rotates and removes endpoints, whose secret is hidden until it is asked for', async () => {
    const stage = await pageStage()
    const { page } = await browser.open(stage, '#/endpoints')
    expect(await page.locator('main').innerText()).not.toContain('whsec_q8J2mZ4vT1xR7bN5')
    await page.getByRole('button', { name: 'Show the secret' }).click()
    await page.getByText('whsec_q8J2mZ4vT1xR7bN5').waitFor()
    await page.getByRole('button', { name: 'Turn off' }).click()
    await expect.poll(() => stage.sandbox.endpoints.list()[0]?.enabled).toBe(false)
    await page.getByRole('button', { name: 'Rotate' }).click()
    await expect.poll(() => stage.sandbox.endpoints.list()[0]?.secrets.length).toBe(2)
    await page.getByRole('checkbox', { name: 'order.created' }).check()
    await expect.poll(() => stage.sandbox.endpoints.list()[0]?.events).toEqual(['*', 'order.created'])
    await page.getByRole('textbox', { name: 'URL' }).fill('http://127.0.0.1:9/other')
    await page.getByRole('button', { name: 'Add' }).click()
    await expect.poll(() => stage.sandbox.endpoints.list().length).toBe(2)
    await page.getByRole('button', { name: 'Remove' }).first().click()
    await page.getByRole('button', { name: 'Really? Remove' }).click()
    await expect.poll(() => stage.sandbox.endpoints.list().length).toBe(1)
  })

  test('shows what the API was asked, and the error', async () => {
    const stage = await pageStage()
    const { page } = await browser.open(stage, '#/requests')
    await page.getByText(/^No API requests yet/).waitFor()
    await stage.sandbox.fetch('/v2/events/evt_none', { headers: KEY })
    const row = page.getByRole('table', { name: 'Requests' }).locator('tbody tr')
    await expect
      .poll(() => row.innerText())
      .toMatch(/GET \/v2\/events\/evt_none\s+404\s+resource_missing\s+[^\n]*evt_none[^\n]*\s+test …a1b2/)
  })

  test('adds faults, which hit requests, and removes them', async () => {
    const stage = await pageStage()
    const { page } = await browser.open(stage, '#/faults')
    const form = page.getByRole('form', { name: 'Add a fault' })
    await form.getByLabel('Path begins with').fill('/v2/venues')
    await form.getByLabel('Method').selectOption('GET')
    await form.getByLabel('Answer').selectOption('503')
    await form.getByLabel('Delay, ms').fill('5')
    await form.getByLabel('Times').fill('2')
    await form.getByRole('button', { name: 'Add' }).click()
    const row = page.getByRole('table', { name: 'Faults' }).locator('tbody tr')
    await expect.poll(() => row.innerText()).toMatch(/^GET \/v2\/venues\s+503, 5\.0 ms late\s+2\s+0\s+Remove/)
    const [{ id = '' } = {}] = stage.sandbox.faults.list()
    expect(stage.sandbox.faults.list()).toEqual([
      { id, path: '/v2/venues', method: 'GET', status: 503, delayMs: 5, times: 2, hits: 0 },
    ])

    expect((await stage.sandbox.fetch('/v2/venues', { headers: KEY })).status).toBe(503)
    await expect.poll(() => row.innerText()).toMatch(/late\s+1\s+1\s+Remove/)
    await page.getByRole('button', { name: `Remove ${id}` }).click()
    await page.getByText('There is no fault.').waitFor()
    expect((await stage.sandbox.fetch('/v2/venues', { headers: KEY })).status).toBe(200)
  })
})
