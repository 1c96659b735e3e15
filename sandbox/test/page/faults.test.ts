import { expect, test } from 'vitest'
import { inBrowser, pageStage, useBrowser } from '../support/page-stage.js'

const KEY = { headers: { authorization: 'Bearer sk_test_a1b2' } }

inBrowser('faults in the page', () => {
  const browser = useBrowser()

  test('are added, hit requests, are counted and removed', async () => {
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

    expect((await stage.sandbox.fetch('/v2/venues', KEY)).status).toBe(503)
    await expect.poll(() => row.innerText()).toMatch(/late\s+1\s+1\s+Remove/)
    await page.getByRole('button', { name: `Remove ${id}` }).click()
    await page.getByText('There is no fault.').waitFor()
    expect((await stage.sandbox.fetch('/v2/venues', KEY)).status).toBe(200)
  })
})
