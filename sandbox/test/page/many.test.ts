import { expect, test } from 'vitest'
import { inBrowser, pageStage, useBrowser } from '../support/page-stage.js'

const MANY = 2000

inBrowser('with 2,000 deliveries', () => {
  const browser = useBrowser()

  // Its times are measured by `npm run bench -- --only page`.
  test('the page lists the latest 1,000, and shows a new one', async () => {
    const stage = await pageStage()
    const { endpoints, deliveries } = stage.sandbox
    const [endpoint] = endpoints.list()
    stage.fail(true)
    // The older half is not in the list, so it need not be sent.
    endpoints.update(String(endpoint?.id), { enabled: false })
    await stage.sandbox.trigger('order.created', { repeat: MANY / 2 })
    endpoints.update(String(endpoint?.id), { enabled: true })
    await stage.sandbox.trigger('order.created', { repeat: MANY / 2 })
    expect(deliveries.counts()).toMatchObject({ skipped: MANY / 2, retrying: MANY / 2 })
    const { page, errors } = await browser.open(stage, '#/deliveries?limit=1000')
    const rows = page.getByRole('table', { name: 'Deliveries' }).locator('tbody tr')
    await rows.first().waitFor()
    // Rows are drawn as they are scrolled to.
    expect(await rows.count()).toBeLessThanOrEqual(200)
    await expect
      .poll(async () => {
        await rows.last().scrollIntoViewIfNeeded()
        return rows.count()
      })
      .toBe(1000)
    await page.getByText(/^The latest 1,000 of 2,000 deliveries/).waitFor()

    const sent = stage.sandbox.account.createEvent({
      title: 'One more',
      venue: { name: 'The Old Customs House' },
      doors_at: '2030-05-17T19:30:00+02:00',
      tickets: [{ name: 'general admission', price_cents: 2700, quantity: 200 }],
    })
    stage.sandbox.account.publishEvent(sent.id)
    await page.getByRole('link', { name: /event\.published/ }).waitFor()
    expect(errors).toEqual([])
  }, 120_000)
})
