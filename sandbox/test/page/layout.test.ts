import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { fillStage, inBrowser, type PageStage, pageStage, useBrowser } from '../support/page-stage.js'

const WIDTHS = [1920, 1440, 1280, 1024, 768, 640, 360]

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

inBrowser('at every width', () => {
  const browser = useBrowser()

  test('nothing is cut off or lies over another thing, with a delivery open and without', async () => {
    const stage = await pageStage()
    const { retrying, refused } = await fillAll(stage)
    const { page } = await browser.open(stage)
    const found: string[] = []
    for (const [view, loaded] of [
      ['deliveries', '[aria-label=Deliveries] tbody tr'],
      [`deliveries/${retrying}`, '.digests code'],
      [`deliveries/${refused}`, '.digests code'],
      ['endpoints', '[aria-label=Endpoints] > li'],
      ['orders', '[aria-label=Orders] tbody tr'],
      ['faults', '[aria-label=Faults] tbody tr'],
    ] as const) {
      await page.goto(`${stage.sandbox.url}/#/${view}`)
      await page.locator(loaded).first().waitFor()
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 })
        found.push(...(await faultsIn(page)).map((fault) => `${view} at ${width}: ${fault}`))
      }
    }
    expect(found).toEqual([])
  }, 60_000)

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
