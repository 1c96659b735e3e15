import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { fillStage, inBrowser, pageStage, useBrowser } from '../../support/page-stage.js'

const VIEWS = ['Deliveries', 'Events', 'Orders', 'Endpoints', 'Requests', 'Assumptions'] as const

/** What is there when a view has all that it shows. */
const LOADED = {
  deliveries: '[aria-label=Deliveries] tbody tr',
  events: '[aria-label=Events] > li',
  orders: '[aria-label=Orders] tbody tr',
  endpoints: '[aria-label=Endpoints] > li',
  requests: '[aria-label=Requests] tbody tr',
  assumptions: '[aria-label=Assumptions] > li',
}

/** What axe finds, as lines to read. */
async function violationsIn(page: Page): Promise<string[]> {
  // Not by a script tag, which the page's own policy refuses.
  await page.evaluate(axe.source)
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } }
    interface Violation {
      id: string
      nodes: { target: string[]; failureSummary: string }[]
    }
    const { violations } = await axe.run()
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target}: ${failureSummary}`),
    )
  })
}

inBrowser('the names by which the page is found', () => {
  const browser = useBrowser()

  test('are those of the design', async () => {
    const stage = await pageStage()
    const { retrying } = await fillStage(stage)
    const { page, errors } = await browser.open(stage)

    const table = page.getByRole('table', { name: 'Deliveries', exact: true })
    expect(await table.locator(`a[href="#/deliveries/${retrying}"]`).count()).toBe(1)
    const one = (role: Parameters<Page['getByRole']>[0], name: string) =>
      page.getByRole(role, { name, exact: true })
    expect(await one('searchbox', 'Search').count()).toBe(1)
    expect(await one('combobox', 'Status').count()).toBe(1)

    const clock = one('group', 'Clock')
    expect(await clock.getByRole('time').first().innerText()).toContain('21:30:00')
    for (const name of ['Next attempt', '1 hour', '24 hours', '72 hours', 'Run']) {
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
    expect(errors).toEqual([])
  })

  test.each(['light', 'dark'] as const)(
    'leave nothing for axe to find, in %s',
    async (colorScheme) => {
      const stage = await pageStage()
      const { retrying, refused } = await fillStage(stage)
      const { page, errors } = await browser.open(stage, '', { colorScheme })
      const found: string[] = []
      const pages = {
        ...LOADED,
        [`deliveries/${retrying}`]: '.digests code',
        [`deliveries/${refused}`]: '.digests code',
      }
      for (const [view, loaded] of Object.entries(pages)) {
        await page.goto(`${stage.sandbox.url}/#/${view}`)
        await page.locator(loaded).first().waitFor()
        // What is folded is looked at, too.
        await page.evaluate(() => {
          for (const details of document.querySelectorAll('details')) details.open = true
        })
        found.push(...(await violationsIn(page)).map((line) => `${view}: ${line}`))
      }
      await page.goto(`${stage.sandbox.url}/#/deliveries`)
      await page.getByRole('article', { name: 'Delivery' }).waitFor({ state: 'detached' })
      stage.sandbox.reset()
      await page.getByRole('heading', { name: 'Nothing was sent yet' }).waitFor()
      found.push(...(await violationsIn(page)))
      expect(found).toEqual([])
      expect(errors).toEqual([])
    },
    60_000,
  )

  test.each([360, 800, 1280])('are all within a window of %i pixels', async (width) => {
    const stage = await pageStage()
    const { retrying } = await fillStage(stage)
    const { page } = await browser.open(stage, '', { viewport: { width, height: 740 } })
    for (const [view, loaded] of Object.entries({ ...LOADED, [`deliveries/${retrying}`]: '.digests code' })) {
      await page.goto(`${stage.sandbox.url}/#/${view}`)
      await page.locator(loaded).first().waitFor()
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      expect(beyond, view).toBeLessThanOrEqual(0)
    }
  })
})
