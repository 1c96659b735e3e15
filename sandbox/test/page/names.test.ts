import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { fillStage, inBrowser, pageStage, useBrowser } from '../support/page-stage.js'

const VIEWS = ['Deliveries', 'Events', 'Orders', 'Endpoints', 'Requests', 'Faults', 'Assumptions'] as const

/** The element that is there when a view is complete. */
const LOADED = {
  deliveries: '[aria-label=Deliveries] tbody tr',
  events: '[aria-label=Events] > li',
  orders: '[aria-label=Orders] tbody tr',
  endpoints: '[aria-label=Endpoints] > li',
  requests: '[aria-label=Requests] tbody tr',
  faults: '[aria-label=Faults] tbody tr',
  assumptions: '[aria-label=Assumptions] > li',
}

/** The findings of axe, as lines to read. The theme changes only colours. */
function violationsIn(page: Page, rules: 'all' | 'colours'): Promise<string[]> {
  return page.evaluate(
    async (runOnly) => {
      const { axe } = globalThis as unknown as {
        axe: { run(options: { runOnly?: string[] }): Promise<{ violations: Violation[] }> }
      }
      interface Violation {
        id: string
        nodes: { target: string[]; failureSummary: string }[]
      }
      const { violations } = await axe.run(runOnly === undefined ? {} : { runOnly })
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id}: ${target}: ${failureSummary}`),
      )
    },
    rules === 'colours' ? ['color-contrast', 'link-in-text-block'] : undefined,
  )
}

inBrowser('the names by which the page is found', () => {
  const browser = useBrowser()

  test('are those of the design', async () => {
    const stage = await pageStage()
    const { retrying } = await fillStage(stage)
    const { page } = await browser.open(stage)

    const table = page.getByRole('table', { name: 'Deliveries', exact: true })
    expect(await table.locator(`a[href="#/deliveries/${retrying}"]`).count()).toBe(1)
    const one = (role: Parameters<Page['getByRole']>[0], name: string) =>
      page.getByRole(role, { name, exact: true })
    expect(await one('searchbox', 'Search').count()).toBe(1)
    const tabs = one('tablist', 'Status').getByRole('tab')
    expect(await tabs.allInnerTexts()).toEqual([
      'All 5',
      'pending 0',
      'retrying 1',
      'delivered 3',
      'failed 0',
      'skipped 0',
      'scenarios 1',
    ])

    const clock = one('group', 'Clock')
    expect(await clock.getByRole('time').first().innerText()).toContain('21:30:00')
    expect(await clock.getByText('Advance', { exact: true }).count()).toBe(1)
    for (const name of ['Next attempt', '+1 hour', '+24 hours', '+72 hours', 'Run']) {
      expect(await clock.getByRole('button', { name, exact: true }).count(), name).toBe(1)
    }
    await clock.getByRole('button', { name: 'Run', exact: true }).click()
    await clock.getByRole('button', { name: 'Freeze', exact: true }).click()
    await clock.getByRole('button', { name: 'Run', exact: true }).waitFor()

    const trigger = one('form', 'Trigger')
    expect(await trigger.getByLabel('Kind', { exact: true }).count()).toBe(1)
    expect(await trigger.getByLabel('Scenario', { exact: true }).count()).toBe(1)
    expect(await trigger.getByRole('button', { name: 'Send', exact: true }).count()).toBe(1)

    await table.locator(`a[href="#/deliveries/${retrying}"]`).click()
    await one('button', 'Resend').waitFor()
    expect(await one('button', 'Copy as cURL').count()).toBe(1)
    expect(await one('img', '72 hours').count()).toBe(1)
    for (const name of ['Attempts', 'Payload', 'Signature', 'Answer', 'Why']) {
      expect(await one('region', name).count(), name).toBe(1)
    }
    for (const name of VIEWS) {
      await one('link', name).click()
      await page.getByRole('heading', { level: 2, name, exact: true }).waitFor()
    }
  })

  test('leave nothing for axe to find in light and dark, and are all within a window of each width', async () => {
    const stage = await pageStage()
    const { retrying, refused } = await fillStage(stage)
    const { page } = await browser.open(stage)
    const found: string[] = []
    const look = async (view: string): Promise<void> => {
      for (const width of [360, 800, 1280]) {
        await page.setViewportSize({ width, height: 740 })
        const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        expect(beyond, `${view} at ${width}`).toBeLessThanOrEqual(0)
      }
      // Folded parts are checked too.
      await page.evaluate(() => {
        for (const details of document.querySelectorAll('details')) details.open = true
      })
      found.push(...(await violationsIn(page, 'all')).map((line) => `${view}: ${line}`))
      await page.emulateMedia({ colorScheme: 'dark' })
      found.push(...(await violationsIn(page, 'colours')).map((line) => `${view} in dark: ${line}`))
      await page.emulateMedia({ colorScheme: 'light' })
    }
    // Not by a script tag, which the page's own policy refuses.
    await page.evaluate(axe.source)
    const pages = {
      ...LOADED,
      [`deliveries/${retrying}`]: '.digests code',
      [`deliveries/${refused}`]: '.digests code',
    }
    for (const [view, loaded] of Object.entries(pages)) {
      await page.goto(`${stage.sandbox.url}/#/${view}`)
      await page.locator(loaded).first().waitFor()
      await look(view)
    }
    await page.goto(`${stage.sandbox.url}/#/deliveries`)
    await page.getByRole('article', { name: 'Delivery' }).waitFor({ state: 'detached' })
    stage.sandbox.reset()
    await page.getByRole('heading', { name: 'Nothing has been sent yet' }).waitFor()
    await look('empty')
    expect(found).toEqual([])
  }, 60_000)
})
