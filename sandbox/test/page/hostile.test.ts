import { expect, test } from 'vitest'
import { inBrowser, pageStage, useBrowser } from '../support/page-stage.js'

const MARKUP = `<script>globalThis.hacked = 1</script><img src=x onerror="globalThis.hacked = 1"><style>*{display:none}</style>`
/** Turns the text after it around. */
const BIDI = '\u202egpj.exe\u2066'

inBrowser('what comes from outside', () => {
  const browser = useBrowser()

  test.each([
    ['markup', { note: MARKUP, [MARKUP]: 1 }],
    ['a megabyte', { note: 'x'.repeat(900_000) }],
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

  test('cannot show the page in a frame of its own', async () => {
    const stage = await pageStage()
    const answer = await stage.sandbox.fetch('/')
    expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  })
})

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = [value]
  return value
}
