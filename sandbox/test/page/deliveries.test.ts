import { execFile } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { listening } from '../support/cli.js'
import { fillStage, inBrowser, pageStage, SECRET, useBrowser } from '../support/page-stage.js'

const run = promisify(execFile)

inBrowser('deliveries in the page', () => {
  const browser = useBrowser()

  test('appear as they are sent, the newest first', async () => {
    const stage = await pageStage()
    const { page } = await browser.open(stage)
    await page.getByRole('heading', { name: 'Nothing has been sent yet' }).waitFor()
    const { deliveries: first } = await stage.sandbox.trigger('order.created')
    const links = page.getByRole('table', { name: 'Deliveries' }).getByRole('link')
    await links.first().waitFor()
    const { deliveries: second } = await stage.sandbox.trigger('event.published')
    await page.locator(`a[href="#/deliveries/${second[0]}"]`).waitFor()
    const hrefs = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href')))
    expect(hrefs).toEqual([...second, ...first].map((id) => `#/deliveries/${id}`))
  })

  test('show their payload while the first attempt is unanswered', async () => {
    const stage = await pageStage()
    let answer = (): void => {}
    const { url } = await listening((_request, response) => {
      answer = () => void response.end()
    })
    const { id } = stage.sandbox.endpoints.create({ url })
    const sent = stage.sandbox.trigger('order.created')
    const deliveries = () => stage.sandbox.deliveries.list({ endpointId: id })
    await expect.poll(deliveries).toHaveLength(1)
    const [delivery] = deliveries()
    const { page } = await browser.open(stage, `#/deliveries/${delivery?.id}`)
    await page.getByRole('region', { name: 'Payload' }).getByText('buyer_email').first().waitFor()
    expect(stage.sandbox.deliveries.get(String(delivery?.id))?.attempts).toEqual([])
    answer()
    await sent
  })

  test('are resent by the keyboard alone, and the new attempt is shown', async () => {
    const stage = await pageStage()
    stage.fail(true)
    await stage.sandbox.trigger('order.created')
    stage.fail(false)
    const [delivery] = stage.sandbox.deliveries.list()
    const { page } = await browser.open(stage)
    await page.getByRole('link', { name: /order\.created/ }).waitFor()

    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    const heading = page.getByRole('heading', { name: 'order.created' })
    await heading.waitFor()
    expect(await heading.evaluate((element) => element === document.activeElement)).toBe(true)
    await page.keyboard.down('r')
    // A key that is held down is one resend.
    await page.keyboard.down('r')
    await page.keyboard.up('r')
    await page.waitForURL(/#\/deliveries\/dlv_\w+\/att_\w+$/)
    const [, last] = stage.sandbox.deliveries.get(String(delivery?.id))?.attempts ?? []
    expect(page.url()).toContain(`#/deliveries/${delivery?.id}/${last?.id}`)
    await page.getByRole('region', { name: 'Answer' }).getByText('200', { exact: true }).first().waitFor()
    expect(stage.sandbox.deliveries.get(String(delivery?.id))?.status).toBe('delivered')

    await page.keyboard.press('Escape')
    await heading.waitFor({ state: 'detached' })
    const focused = await page.evaluate(() => document.activeElement?.getAttribute('href'))
    expect(focused).toBe(`#/deliveries/${delivery?.id}`)
    await stage.sandbox.settled()
    expect(stage.sandbox.deliveries.get(String(delivery?.id))?.attempts).toHaveLength(2)
  })

  test('are moved through by j and k, while what is typed is left alone', async () => {
    const stage = await pageStage()
    for (let count = 0; count < 2; count++) await stage.sandbox.trigger('order.created')
    const { page } = await browser.open(stage)
    const links = page.getByRole('link', { name: /order\.created/ })
    await links.nth(1).waitFor()
    const ids = stage.sandbox.deliveries.list().map(({ id }) => `#/deliveries/${id}`)
    const focused: unknown[] = []
    for (const key of ['j', 'j', 'j', 'k', 'ArrowDown']) {
      await page.keyboard.press(key)
      focused.push(await page.evaluate(() => document.activeElement?.getAttribute('href')))
    }
    expect(focused).toEqual([0, 1, 1, 0, 0].map((index) => ids[index]))
    await page.getByRole('searchbox', { name: 'Search' }).pressSequentially('jkr')
    await page.getByText('No delivery matches.').waitFor()
    await page.waitForURL(/q=jkr/)
  })

  test('are searched and filtered, and the address has the filter', async () => {
    const stage = await pageStage()
    const { retrying, refused } = await fillStage(stage)
    const { page } = await browser.open(stage)
    const rows = page.getByRole('table', { name: 'Deliveries' }).locator('tbody tr')
    const tab = (name: string) => page.getByRole('tab', { name, exact: true })
    await tab('scenarios 1').click()
    await expect.poll(() => rows.count()).toBe(1)
    expect(await rows.getByRole('link').getAttribute('href')).toBe(`#/deliveries/${refused}?status=scenario`)
    expect(await rows.innerText()).toMatch(/passed/)
    await page.keyboard.press('ArrowLeft')
    await page.getByText('No delivery matches.').waitFor()
    expect(await tab('skipped 0').getAttribute('aria-selected')).toBe('true')
    await tab('All 5').click()
    await expect.poll(() => rows.count()).toBe(5)
    await page.getByRole('searchbox', { name: 'Search' }).fill(retrying.toUpperCase())
    await expect.poll(() => rows.count()).toBe(1)
    await page.reload()
    await expect.poll(() => rows.count()).toBe(1)
    expect(await page.getByRole('searchbox', { name: 'Search' }).inputValue()).toBe(retrying.toUpperCase())
  })

  test('keep what is clicked while one types', async () => {
    const stage = await pageStage()
    await fillStage(stage)
    // A limit that is no whole number is no reason to show nothing.
    const { page } = await browser.open(stage, '#/deliveries?limit=3.5')
    const search = page.getByRole('searchbox', { name: 'Search' })
    const rows = page.getByRole('table', { name: 'Deliveries' }).locator('tbody tr')
    await expect.poll(() => rows.count()).toBe(3)
    await search.fill('order ')
    await page.getByRole('tab', { name: 'retrying 1' }).click()
    await page.waitForURL(/q=order/)
    expect(page.url()).toMatch(/status=retrying/)
    expect(await search.inputValue()).toBe('order ')
  })

  test('are followed, until one is chosen', async () => {
    const stage = await pageStage()
    await stage.sandbox.trigger('event.published')
    const { page } = await browser.open(stage)
    const follow = page.getByRole('button', { name: 'Follow' })
    await follow.click()
    await page.getByRole('heading', { name: 'event.published' }).waitFor()
    await stage.sandbox.trigger('order.created')
    await page.getByRole('heading', { name: 'order.created' }).waitFor()
    expect(await follow.getAttribute('aria-pressed')).toBe('true')
    await page.getByRole('link', { name: /event\.published/ }).click()
    await page.getByRole('heading', { name: 'event.published' }).waitFor()
    expect(await follow.getAttribute('aria-pressed')).toBe('false')
  })

  test('show what was signed, and why they were refused', async () => {
    const stage = await pageStage()
    const { retrying, refused } = await fillStage(stage)
    const { page } = await browser.open(stage, `#/deliveries/${refused}`)
    await page.getByRole('region', { name: 'Scenario' }).getByText('Expected 4xx, got 401.').waitFor()
    await page.getByRole('region', { name: 'Why' }).getByText('timestamp_too_old').waitFor()
    const signature = page.getByRole('region', { name: 'Signature' })
    await signature.getByText('= v1', { exact: true }).waitFor()
    expect(await signature.innerText()).toMatch(/6 min old when it was sent/)
    expect(await signature.innerText()).not.toContain(SECRET)

    await page.goto(`${stage.sandbox.url}/#/deliveries/${retrying}`)
    await page.getByRole('region', { name: 'Why' }).getByText('Your receiver failed with 500').waitFor()
    await page.getByRole('region', { name: 'Why' }).getByText('valid', { exact: true }).waitFor()
    await page.getByRole('img', { name: '72 hours' }).waitFor()
    expect(await page.getByRole('button', { name: /^Advance to here/ }).count()).toBe(5)
    await page
      .getByRole('button', { name: /^Advance to here/ })
      .first()
      .click()
    await page.getByRole('link', { name: 'Attempt 7' }).waitFor()
  })

  test('are delivered if they were parked, and said not to be handled', async () => {
    const stage = await pageStage({ parkAfter: { attempts: 3 } })
    stage.fail(true)
    await stage.sandbox.trigger('order.created')
    await stage.sandbox.clock.advance('96h')
    const [delivery] = stage.sandbox.deliveries.list()
    const { page } = await browser.open(stage, `#/deliveries/${delivery?.id}`)
    const shown = page.getByRole('article', { name: 'Delivery' })
    await shown.getByText('delivered', { exact: true }).waitFor()
    await shown.getByRole('region', { name: 'Why' }).getByText('Your receiver parked it').waitFor()
    for (const name of ['Deliveries', 'Attempts']) {
      const table = page.getByRole('table', { name, exact: true })
      expect(await table.getByText('parked', { exact: true }).count()).toBe(1)
    }
    expect(await shown.getByRole('table', { name: 'Attempts' }).getByText('500').count()).toBe(2)
  })

  test('say what is in them, and how each attempt was answered', async () => {
    const body = '<!DOCTYPE html><title>Error</title><pre>Error: ECONNREFUSED db:5432<br> at connect</pre>'
    const stage = await pageStage({ answer: { status: 500, headers: { 'content-type': 'text/html' }, body } })
    await stage.sandbox.trigger('event.rescheduled')
    await stage.sandbox.trigger('order.created')
    await stage.sandbox.clock.advance('150m')
    const { page } = await browser.open(stage, '', { viewport: { width: 1440, height: 900 } })
    const rows = page.getByRole('table', { name: 'Deliveries' }).locator('tbody tr')
    await rows.first().waitFor()
    const [order, event] = await rows.allInnerTexts()
    expect(order).toMatch(
      /^order\.created\s+2 tickets · 54\.00 · buyer1@example\.com\s+retrying\s+500 Error: ECONNREFUSED db:5432\s/,
    )
    expect(event).toMatch(/^event\.rescheduled\s+Harbour Jazz · rescheduled\s/)
    expect(order).not.toContain('dlv_')

    await rows.getByRole('link', { name: /order\.created/ }).click()
    const shown = page.getByRole('article', { name: 'Delivery' })
    await shown.getByRole('region', { name: 'Why' }).getByText('“Error: ECONNREFUSED db:5432”').waitFor()
    const regions = await shown
      .getByRole('region')
      .evaluateAll((all) => all.map((region) => region.getAttribute('aria-label')))
    expect(regions).toEqual(['Why', 'Answer', 'Attempts', 'Payload', 'Signature'])
    const attempts = await shown.getByRole('table', { name: 'Attempts' }).locator('tbody tr').allInnerTexts()
    expect(attempts.join('\n')).toMatch(
      /\+0 s\s.*\s500 Error: ECONNREFUSED db:5432\s[\s\S]*\+\d+ min\s[\s\S]*\+2(\.\d)? h\s/,
    )
  })

  test.each([
    [401, 'passed'],
    [200, 'wrong answer'],
  ])(
    'of a scenario answered %i have the status %s, and name an attempt that they do not have',
    async (answer, status) => {
      const stage = await pageStage({ answer: { status: answer, body: 'ok' } })
      const { deliveries } = await stage.sandbox.trigger('order.created', { scenario: 'wrong-secret' })
      const { page } = await browser.open(stage, `#/deliveries/${deliveries[0]}/att_none`)
      const shown = page.getByRole('article', { name: 'Delivery' })
      await shown.getByText(`Expected 4xx, got ${answer}.`).waitFor()
      await shown.locator('.head').getByText(status, { exact: true }).waitFor()
      await shown.getByText('This delivery has no attempt att_none: the latest is shown.').waitFor()
      await page.getByRole('table', { name: 'Deliveries' }).getByText(status, { exact: true }).waitFor()
      for (const other of ['delivered', 'failed'])
        await page.getByRole('tab', { name: `${other} 0` }).waitFor()
    },
  )

  test('are copied as a cURL command that is accepted when it is pasted', async () => {
    const stage = await pageStage({ startAt: '2020-01-01T00:00:00Z' })
    await stage.sandbox.trigger('order.created', { set: { 'data.order.id': "o'1 $HOME `id`" } })
    const [delivery] = stage.sandbox.deliveries.list()
    const { page } = await browser.open(stage, `#/deliveries/${delivery?.id}`, {
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    await page.getByRole('button', { name: 'Copy as cURL' }).click()
    await page.getByText(/^Copied, with a fresh signature/).waitFor()
    const command = await page.evaluate(() => navigator.clipboard.readText())
    const { stdout } = await run('sh', ['-c', command])
    expect(stdout).toMatch(/^HTTP\/1\.1 200 /)
    expect(stdout).toContain('{"outcome":"duplicate"}')
  })

  test('have a cURL command that sends what it says, whatever curl makes of a URL or an empty header', async () => {
    const arrived: string[] = []
    const { url } = await listening(async (request, response) => {
      const header = request.headers['x-service-signature']
      arrived.push(JSON.stringify({ url: request.url, header, body: await text(request) }))
      response.end()
    })
    const { sandbox } = await pageStage()
    for (const { id } of sandbox.endpoints.list()) sandbox.endpoints.remove(id)
    sandbox.endpoints.create({ url: `${url}?a={x,y}&b[]=[1-3]` })
    await sandbox.trigger('order.created', { scenario: 'missing-header' })
    const sent = arrived.splice(0)
    expect(sent.join()).toContain('"header":""')
    for (const { id, attempts } of sandbox.deliveries.list()) {
      for (const attempt of attempts) {
        const answer = await sandbox.fetch(`/_sandbox/deliveries/${id}/attempts/${attempt.id}/curl`)
        const { command } = (await answer.json()) as { command: string }
        await run('sh', ['-c', command])
      }
    }
    expect(arrived.sort()).toEqual(sent.sort())
  })
})
