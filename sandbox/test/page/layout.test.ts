import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { fillStage, inBrowser, type PageStage, pageStage, useBrowser } from '../support/page-stage.js'

const WIDTHS = [1920, 1440, 1280, 1024, 768, 640, 360]

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

/** The texts that are cut off or lie over each other: of headings, tabs, tags, buttons and fields. */
function faultsIn(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const isSeen = (element: Element) => element.checkVisibility() && element.getClientRects().length > 0
    const seen = (selector: string) => [...document.querySelectorAll<HTMLElement>(selector)].filter(isSeen)
    const boxOf = (element: Element) => {
      const range = document.createRange()
      range.selectNodeContents(element)
      return range.getBoundingClientRect()
    }
    const nameOf = (element: HTMLElement) =>
      `${element.tagName.toLowerCase()} ${JSON.stringify(element.innerText.trim().slice(0, 30))}`
    const faults: string[] = []
    for (const head of seen('thead th:not(.unseen)')) {
      const [text, cell] = [boxOf(head), head.getBoundingClientRect()]
      if (text.left < cell.left - 1 || text.right > cell.right + 1) faults.push(`${nameOf(head)} is cut`)
    }
    for (const tag of seen('.badge, .tag, .result')) {
      const cell = tag.closest('td, th')?.getBoundingClientRect()
      const box = tag.getBoundingClientRect()
      if (cell && (box.left < cell.left - 1 || box.right > cell.right + 1))
        faults.push(`${nameOf(tag)} is cut`)
    }
    for (const field of seen('input[placeholder]') as HTMLInputElement[]) {
      const style = getComputedStyle(field)
      const canvas = document.createElement('canvas').getContext('2d')
      if (canvas === null) continue
      canvas.font = `${style.fontSize} ${style.fontFamily}`
      const room =
        field.clientWidth - Number.parseFloat(style.paddingLeft) - Number.parseFloat(style.paddingRight)
      if (canvas.measureText(field.placeholder).width > room) faults.push(`${field.placeholder} is cut`)
    }
    const boxes = seen('thead th, [role=tab], header a, button, h1, h2').map((element) => ({
      element,
      box: element.matches('button') ? element.getBoundingClientRect() : boxOf(element),
    }))
    for (const [index, { element, box }] of boxes.entries()) {
      for (const { element: other, box: its } of boxes.slice(index + 1)) {
        if (element.contains(other) || other.contains(element)) continue
        const isApart =
          box.right <= its.left + 1 ||
          its.right <= box.left + 1 ||
          box.bottom <= its.top + 1 ||
          its.bottom <= box.top + 1
        const isInView = box.width > 0 && its.width > 0
        if (isInView && !isApart) faults.push(`${nameOf(element)} and ${nameOf(other)} lie over each other`)
      }
    }
    const beyond = document.documentElement.scrollWidth - innerWidth
    if (beyond > 0) faults.push(`${beyond} pixels are beyond the window`)
    return faults
  })
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

/** Deliveries of each status, with the longest names: a burst that fails got a wrong answer. */
async function fillAll(stage: PageStage) {
  const { sandbox, fail } = stage
  const filled = await fillStage(stage)
  for (const scenario of ['concurrent-burst', 'other-endpoints-secret', 'malformed-header']) {
    await sandbox.trigger('order.created', { scenario })
  }
  fail(false)
  await sandbox.trigger('order.created', { repeat: 12 })
  await sandbox.trigger('event.rescheduled', {
    set: { 'data.event.title': 'An evening of songs by the sea'.repeat(4) },
  })
  return filled
}

inBrowser('each view', () => {
  const browser = useBrowser()

  test('has nothing that is cut off or lies over another thing at any width, and nothing for axe to find in light and dark', async () => {
    const stage = await pageStage()
    const { retrying, refused } = await fillAll(stage)
    const { page } = await browser.open(stage)
    // Not by a script tag, which the page's own policy refuses.
    await page.evaluate(axe.source)
    const found: string[] = []
    const look = async (view: string): Promise<void> => {
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 })
        found.push(...(await faultsIn(page)).map((fault) => `${view} at ${width}: ${fault}`))
      }
      await page.setViewportSize({ width: 1280, height: 740 })
      // Folded parts are checked too.
      await page.evaluate(() => {
        for (const details of document.querySelectorAll('details')) details.open = true
      })
      found.push(...(await violationsIn(page, 'all')).map((line) => `${view}: ${line}`))
      await page.emulateMedia({ colorScheme: 'dark' })
      found.push(...(await violationsIn(page, 'colours')).map((line) => `${view} in dark: ${line}`))
      await page.emulateMedia({ colorScheme: 'light' })
    }
    const digests = '.digests code'
    const views = { ...LOADED, [`deliveries/${retrying}`]: digests, [`deliveries/${refused}`]: digests }
    for (const [view, loaded] of Object.entries(views)) {
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
  })

  test('the clock and the trigger are folded away where they would fill the window', async () => {
    const stage = await pageStage()
    await fillStage(stage)
    for (const width of [360, 640, 768]) {
      const { page } = await browser.open(stage, '', { viewport: { width, height: 740 } })
      const row = page.getByRole('table', { name: 'Deliveries' }).locator('tbody tr').first()
      await row.waitFor()
      expect((await row.boundingBox())?.y, `${width}`).toBeLessThan(340)
      const next = page.getByRole('button', { name: 'Next attempt' })
      const send = page.getByRole('button', { name: 'Send', exact: true })
      expect([await next.isVisible(), await send.isVisible()]).toEqual([false, false])
      await page.getByRole('button', { name: 'Controls' }).click()
      expect([await next.isVisible(), await send.isVisible()]).toEqual([true, true])
    }
  })
})
