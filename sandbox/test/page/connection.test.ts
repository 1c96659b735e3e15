import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
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
  }, 60_000)
})
