import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { inBrowser, pageStage, useBrowser } from '../support/page-stage.js'

/** The address of a page of the user's own, from another origin than the sandbox. */
async function ownPage(html: string): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(html)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://localhost:${(server.address() as AddressInfo).port}/`
}

inBrowser('the embedded checkout', () => {
  const browser = useBrowser()

  test('sells a ticket in a page of the own, and the ticket has a wallet page', async () => {
    const stage = await pageStage()
    const { account, url } = stage.sandbox
    const event = account.createEvent({
      title: 'Night of lights',
      venue: { name: 'Old mill', timezone: 'Europe/Berlin' },
      doors_at: '2026-12-24T19:30:00+01:00',
      tickets: [{ name: 'balcony', price_cents: 1500, quantity: 10 }],
    })
    account.publishEvent(event.id)
    const { page } = await browser.open(stage, '', { mayFail: true })
    await page.goto(
      await ownPage(
        `<!doctype html><title>My shop</title><body><script src="${url}/embed.js" data-event="${event.slug}"></script>`,
      ),
    )
    const frame = page.frameLocator('iframe[title=Checkout]')
    await frame.getByRole('heading', { name: 'Night of lights' }).waitFor()
    expect(await frame.getByRole('time').first().innerText()).toContain('19:30 (Europe/Berlin)')
    await frame.getByLabel('How many').fill('2')
    await frame.getByRole('button', { name: 'Buy' }).click()
    const sold = await frame.getByText(/^Sold: order/).innerText()
    expect(account.retrieveEvent(event.id).sold).toBe(2)
    expect(page.url()).toContain('http://localhost:')

    const [ticket] = /tik_\w+/.exec(sold) ?? []
    await page.goto(`${url}/wallet/${ticket}`)
    await page.getByText(`balcony, ticket ${ticket}`).waitFor()
    await page.getByText(/^To scan: \w{24}$/).waitFor()
  })
})
