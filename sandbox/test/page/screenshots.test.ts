import { existsSync, mkdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ROOT } from '../../../test/support/root.js'
import { inBrowser, type PageStage, pageStage, useBrowser } from '../support/page-stage.js'

/** `npm run screenshots` takes those of docs/ again. Otherwise they are taken, and not kept: pixels differ with the fonts of a machine. */
const KEEPS = process.env.TIX_SCREENSHOTS === '1'

const SHOTS = [
  { name: 'page-delivery', colorScheme: 'light' },
  { name: 'page-signature', colorScheme: 'dark' },
] as const

/** A morning's work: what arrived, what was refused, and what waits. */
async function day({ sandbox, fail }: PageStage): Promise<string> {
  await sandbox.trigger('event.published')
  await sandbox.trigger('order.created')
  await sandbox.trigger('order.created', { scenario: 'tampered-byte' })
  await sandbox.clock.advance('20m')
  await sandbox.trigger('order.created', { scenario: 'stale' })
  await sandbox.trigger('event.cancelled')
  fail(true)
  await sandbox.trigger('order.created', { scenario: 'wrong-secret' })
  const { deliveries } = await sandbox.trigger('order.created')
  await sandbox.clock.advance('3h')
  fail(false)
  await sandbox.trigger('order.created')
  return String(deliveries[0])
}

inBrowser('a screenshot of docs/', () => {
  const browser = useBrowser()

  test.each(SHOTS)('shows the page as it is: $name', async ({ name, colorScheme }) => {
    const stage = await pageStage({ failure: { status: 500, body: 'ECONNREFUSED db:5432' } })
    const id = await day(stage)
    const { page } = await browser.open(stage, `#/deliveries/${id}`, {
      colorScheme,
      viewport: { width: 1280, height: 800 },
    })
    await page.getByRole('region', { name: 'Why' }).getByText('“ECONNREFUSED db:5432”').waitFor()
    const signature = page.getByRole('region', { name: 'Signature' })
    await signature.getByText('= v1', { exact: true }).waitFor()
    if (name === 'page-signature') await signature.evaluate((it) => it.scrollIntoView({ block: 'center' }))
    const folder = `${ROOT}sandbox/docs/images`
    if (KEEPS) mkdirSync(folder, { recursive: true })
    const path = `${folder}/${name}.png`
    const shot = await page.screenshot(KEEPS ? { path } : {})
    expect(shot.length).toBeGreaterThan(20_000)
    expect(existsSync(path)).toBe(true)
  })
})
