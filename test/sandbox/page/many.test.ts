import { expect, test } from 'vitest'
import { inBrowser, pageStage, useBrowser } from '../../support/page-stage.js'

const MANY = 2000

inBrowser('with 2,000 deliveries', () => {
  const browser = useBrowser()

  test('the page is there at once, and stays quick', async () => {
    const stage = await pageStage()
    const [endpoint] = stage.sandbox.endpoints.list()
    stage.fail(true)
    for (let sent = 0; sent < MANY; sent += 1000)
      await stage.sandbox.trigger('order.created', { repeat: 1000 })
    expect(stage.sandbox.deliveries.counts().retrying).toBe(MANY)
    const startMs = performance.now()
    const { page, errors } = await browser.open(stage, '#/deliveries?limit=1000')
    const rows = page.getByRole('table', { name: 'Deliveries' }).locator('tbody tr')
    await rows.first().waitFor()
    const firstRowMs = performance.now() - startMs
    expect(await rows.count()).toBe(1000)
    await page.getByText(/^The latest 1000 of 2,000 deliveries/).waitFor()

    const sentMs = performance.now()
    const sent = stage.sandbox.account.createEvent({
      title: 'One more',
      venue: { name: 'The Old Customs House' },
      doors_at: '2030-05-17T19:30:00+02:00',
      tickets: [{ name: 'general admission', price_cents: 2700, quantity: 200 }],
    })
    stage.sandbox.account.publishEvent(sent.id)
    await page.getByRole('link', { name: /event\.published/ }).waitFor()
    const rowMs = performance.now() - sentMs

    // How long the page does nothing but draw.
    const longestMs = await page.evaluate(
      (id) =>
        new Promise<number>((resolve) => {
          let longest = 0
          new PerformanceObserver((list) => {
            for (const { duration } of list.getEntries()) longest = Math.max(longest, duration)
          }).observe({ entryTypes: ['longtask'] })
          const patch = { method: 'PATCH', headers: { 'content-type': 'application/json' } }
          const url = `/_sandbox/endpoints/${id}`
          void fetch(url, { ...patch, body: '{"events":["*","order.created"]}' })
            .then(() => fetch(url, { ...patch, body: '{"events":["*"]}' }))
            .then(() => setTimeout(() => resolve(longest), 1000))
        }),
      String(endpoint?.id),
    )
    const figures = { firstRowMs, rowMs, longestMs }
    // On two busy cores; a quiet machine takes a third of it.
    expect(figures.firstRowMs, JSON.stringify(figures)).toBeLessThan(5000)
    expect(figures.rowMs, JSON.stringify(figures)).toBeLessThan(3000)
    expect(figures.longestMs, JSON.stringify(figures)).toBeLessThan(500)
    expect(errors).toEqual([])
  }, 120_000)
})
