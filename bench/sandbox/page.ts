import { gzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { createSandbox, type Sandbox } from 'tix-webhooks-sandbox'
import { findChromium, launchChromium } from '../../test/support/chromium.js'
import type { Bench, Group } from '../support/bench.js'
import { short, spread, whole } from '../support/figures.js'
import { estimateOf } from '../support/rounds.js'

const MANY = 2000

/** How long one waits for the sandbox's page, and how much of it a browser loads. */
export const page: Group = {
  id: 'page',
  async measure(bench) {
    const missing = await findChromium().catch((error: Error) => error)
    if (missing instanceof Error) {
      bench.progress(`page: left out, because ${missing.message}`)
      return []
    }
    bench.progress(`page: ${whole(MANY)} deliveries in Chromium`)
    const browser = await launchChromium()
    const sandbox = createSandbox({ deliver: async () => new Response(null, { status: 500 }) })
    try {
      await sandbox.listen()
      const empty = await measured(bench, browser, sandbox, '')
      for (let sent = 0; sent < MANY; sent += 1000) await sandbox.trigger('order.created', { repeat: 1000 })
      const latest = await measured(bench, browser, sandbox, '')
      const most = await measured(bench, browser, sandbox, '#/deliveries?limit=1000')
      const sizes = await Promise.all(['page.js', 'page.css'].map((file) => gzipped(sandbox, file)))
      return [
        {
          title: 'The page of the sandbox',
          columns: [
            'milliseconds until',
            'few deliveries',
            `100 of ${whole(MANY)} shown`,
            `1,000 of ${whole(MANY)} shown`,
          ],
          rows: [
            ['the first row is there', empty.first, latest.first, most.first],
            ['a new delivery has its row', empty.next, latest.next, most.next],
          ],
          notes: [
            `In Debian's Chromium, without a window, each time in a tab of its own. Script and style are ${sizes.map((size) => whole(size)).join(' and ')} bytes gzipped.`,
          ],
        },
      ]
    } finally {
      await browser.close()
      await sandbox.close()
    }
  },
}

async function measured(bench: Bench, browser: Browser, sandbox: Sandbox, hash: string) {
  const first: number[] = []
  const next: number[] = []
  await sandbox.trigger('order.created')
  for (let round = 0; round < bench.size(8, 2); round++) {
    const tab = await browser.newPage()
    const startMs = performance.now()
    await tab.goto(`${sandbox.url}/${hash}`)
    await rowOf(tab, sandbox)
    first.push(performance.now() - startMs)
    const sentMs = performance.now()
    await sandbox.trigger('event.published')
    await rowOf(tab, sandbox)
    next.push(performance.now() - sentMs)
    await tab.close()
  }
  const [untilFirst, untilNext] = [first, next].map((figures) => spread(estimateOf(figures, 'time'), short))
  return { first: `${untilFirst}`, next: `${untilNext}` }
}

/** Resolves when the newest delivery has its row. */
async function rowOf(tab: Page, sandbox: Sandbox): Promise<void> {
  const [newest] = sandbox.deliveries.list({ limit: 1 })
  await tab.locator(`a[data-id="${newest?.id}"]`).waitFor()
}

async function gzipped(sandbox: Sandbox, file: string): Promise<number> {
  return gzipSync(await (await sandbox.fetch(`/_sandbox/${file}`)).text()).length
}
