import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { listening } from '../support/cli.js'
import { errorsOf, inBrowser, pageStage, useBrowser } from '../support/page-stage.js'

/** Makes a tab take itself for hidden, or not: a browser without a window shows them all. */
async function setVisibility(page: Page, state: 'visible' | 'hidden'): Promise<void> {
  await page.evaluate((given) => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, value: given })
    document.dispatchEvent(new Event('visibilitychange'))
  }, state)
}

inBrowser('the connection of the page', () => {
  const browser = useBrowser()

  test('is there again after the sandbox was started again', async () => {
    const before = await pageStage()
    const { page } = await browser.open(before, '', { mayFail: true })
    await page.getByText('live', { exact: true }).waitFor()
    const port = Number(new URL(before.sandbox.url).port)
    await before.sandbox.close()
    await page.getByText('reconnecting', { exact: true }).waitFor()
    const after = await pageStage({ port })
    await after.sandbox.trigger('event.cancelled')
    await page.getByRole('link', { name: /event\.cancelled/ }).waitFor()
    await page.getByText('live', { exact: true }).waitFor()
  })

  test('is closed while the tab is hidden', async () => {
    const stage = await pageStage()
    const { page } = await browser.open(stage)
    await page.getByText('live', { exact: true }).waitFor()
    await setVisibility(page, 'hidden')
    await page.getByText('paused', { exact: true }).waitFor()
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await stage.sandbox.trigger('order.created')
    expect(await page.getByRole('link', { name: /order\.created/ }).count()).toBe(0)
    expect(asked).toEqual([])
    await setVisibility(page, 'visible')
    await page.getByRole('link', { name: /order\.created/ }).waitFor()
  })

  test('is kept by ten tabs at once, all of which can be seen', async () => {
    const stage = await pageStage()
    const { page: first } = await browser.open(stage)
    const others = await Promise.all(Array.from({ length: 9 }, () => first.context().newPage()))
    onTestFinished(async () => void (await Promise.all(others.map((page) => page.close()))))
    const errors = others.map(errorsOf)
    await Promise.all(others.map((page) => page.goto(stage.sandbox.url)))
    const pages = [first, ...others]
    await Promise.all(pages.map((page) => page.getByText('live', { exact: true }).waitFor()))
    await stage.sandbox.trigger('order.created')
    await Promise.all(pages.map((page) => page.getByRole('link', { name: /order\.created/ }).waitFor()))
    // And each can still ask for something.
    await Promise.all(pages.map((page) => page.getByRole('button', { name: '+1 hour' }).click()))
    await expect
      .poll(() => new Date(stage.sandbox.clock.now()).toISOString())
      .toBe('2026-11-23T04:30:00.000Z')
    expect(errors.flat()).toEqual([])
  })
})

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
    const html = `<!doctype html><title>My shop</title><body><script src="${url}/embed.js" data-event="${event.slug}"></script>`
    // A page of the user's own, from another origin than the sandbox.
    const own = await listening((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end(html)
    })
    await page.goto(own.url.replace('127.0.0.1', 'localhost'))
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

const MARKUP = `<script>globalThis.hacked = 1</script><img src=x onerror="globalThis.hacked = 1"><style>*{display:none}</style>`
/** Turns the text after it around. */
const BIDI = '\u202egpj.exe\u2066'

inBrowser('what comes from outside', () => {
  const browser = useBrowser()

  test.each([
    ['markup, and a megabyte', { note: MARKUP + 'x'.repeat(900_000), [MARKUP]: 1 }],
    ['text that turns around', { note: BIDI, [BIDI]: BIDI }],
    ['JSON of great depth', { note: nested(500) }],
  ])('runs nothing, and stays in its place: %s', async (_name, extra) => {
    const stage = await pageStage({
      answer: {
        status: 500,
        headers: { 'x-odd': MARKUP },
        body: `${MARKUP}${JSON.stringify(extra).slice(0, 60_000)}`,
      },
    })
    await stage.sandbox.trigger('order.created', { data: { order: { id: MARKUP }, tickets: [], ...extra } })
    await stage.sandbox.fetch(`/v2/${encodeURIComponent(MARKUP)}`)
    const [delivery] = stage.sandbox.deliveries.list()
    const { page } = await browser.open(stage, `#/deliveries/${delivery?.id}`)
    await page.getByRole('region', { name: 'Answer' }).waitFor()
    expect(await page.getByRole('region', { name: 'Answer' }).innerText()).toContain('<script>')
    await page.getByRole('button', { name: 'Raw' }).click()
    const payload = page.getByRole('region', { name: 'Payload' })
    expect(await payload.innerText()).toContain('{"type":"order.created"')
    if ('note' in extra && extra.note === BIDI) expect(await payload.innerText()).toContain('U+202E')
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(
      0,
    )
    expect(await page.evaluate(() => 'hacked' in globalThis)).toBe(false)
    expect(await page.locator('#page script, #page img, #page style').count()).toBe(0)
    await page.getByRole('link', { name: 'Requests' }).click()
    await page.getByRole('table', { name: 'Requests' }).waitFor()
  })
})

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = [value]
  return value
}
