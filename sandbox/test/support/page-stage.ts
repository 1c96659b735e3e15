import type { Page, ViewportSize } from 'playwright-core'
import type { ParkAfter } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/node'
import { createSandbox, type SandboxOptions } from 'tix-webhooks-sandbox'
import { beforeAll, describe, expect, inject, onTestFinished } from 'vitest'
import { launchChromium } from '../../../test/support/chromium.js'
import { listen } from '../../../test/support/http.js'
import { WAIT_LIMIT_MS } from '../../../test/support/patience.js'

/** `describe` for tests in a browser: skipped where there is none. */
export const inBrowser = describe.skipIf(!inject('chromium'))

export const SECRET = 'whsec_q8J2mZ4vT1xR7bN5'

export type PageStage = Awaited<ReturnType<typeof pageStage>>

export interface PageStageOptions extends Pick<SandboxOptions, 'seed' | 'startAt' | 'retry' | 'assume'> {
  /** Default: any free one. */
  readonly port?: number
  /** When the receiver parks what fails. Default: never. */
  readonly parkAfter?: ParkAfter
  /** Answers in place of the receiver. */
  readonly answer?: StageAnswer
  /** Answers in place of the receiver while it fails. Default: its handler throws. */
  readonly failure?: StageAnswer
}

interface StageAnswer {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body: string
}

/** A sandbox on a port, and a receiver of ours that it delivers to. Both are closed at the end of the test. */
export async function pageStage({ port, answer, failure, parkAfter, ...options }: PageStageOptions = {}) {
  let fails = false
  const handle = (): void => {
    if (fails) throw new Error('The mail server is down.')
  }
  const on = { 'order.created': handle, 'event.published': handle, 'event.cancelled': handle }
  const own = tixWebhooks({
    secret: SECRET,
    onError: () => {},
    on,
    namespace: 'orders',
    parkAfter,
  })
  const receiver = await listen((request, response) => {
    const given = answer ?? (fails ? failure : undefined)
    if (given === undefined) own(request, response)
    else response.writeHead(given.status, given.headers).end(given.body)
  })
  const sandbox = createSandbox({
    secret: SECRET,
    endpoints: [{ url: `${receiver.url}/hooks` }],
    startAt: '2026-11-22T18:30:00Z',
    seed: 7,
    onWarning: () => {},
    ...options,
  })
  await sandbox.listen(port === undefined ? {} : { port })
  onTestFinished(async () => {
    await sandbox.close()
    await receiver.close()
  })
  return {
    sandbox,
    /** Whether its handler fails from now on. */
    fail(given: boolean) {
      fails = given
    },
  }
}

interface OpenOptions {
  /** Default: 1280 by 800 pixels. */
  readonly viewport?: ViewportSize
  readonly colorScheme?: 'light' | 'dark'
  /** Permissions of the page, such as `clipboard-read`. Default: none. */
  readonly permissions?: readonly string[]
  /** Whether it may log errors. Default: they fail the test. */
  readonly mayFail?: boolean
}

const VIEWPORT = { width: 1280, height: 800 }

let shared: Promise<Page> | undefined

/**
 * Has a browser for the tests of a file: one for all files of this process, which ends it with itself. The tests use one tab, too,
 * as a new one takes longer than most of them: each sandbox has an origin of its own, so they share no data.
 */
export function useBrowser() {
  beforeAll(async () => {
    shared ??= launchTab()
    await shared
  })
  return {
    /** Opens a part of the sandbox's page, such as `#/events`. */
    async open(
      { sandbox }: Pick<PageStage, 'sandbox'>,
      hash = '',
      { viewport = VIEWPORT, colorScheme = 'light', permissions = [], mayFail = false }: OpenOptions = {},
    ): Promise<{ page: Page }> {
      if (shared === undefined) throw new Error('There is no browser yet: open a page in a test.')
      const page = await shared
      const errors = errorsOf(page)
      onTestFinished(async () => {
        page.removeAllListeners()
        await page.context().clearPermissions()
        await page.goto('about:blank')
        if (!mayFail) expect(errors).toEqual([])
      })
      await page.setViewportSize(viewport)
      await page.emulateMedia({ colorScheme })
      if (permissions.length > 0) await page.context().grantPermissions([...permissions])
      await page.goto(`${sandbox.url}/${hash}`)
      await page.getByRole('group', { name: 'Clock' }).waitFor()
      return { page }
    },
  }
}

async function launchTab(): Promise<Page> {
  const browser = await launchChromium()
  const context = await browser.newContext({ viewport: VIEWPORT })
  context.setDefaultTimeout(WAIT_LIMIT_MS)
  return context.newPage()
}

/** Collects what a page logs as an error. */
export function errorsOf(page: Page): readonly string[] {
  const errors: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text())
  })
  page.on('pageerror', (error) => errors.push(String(error)))
  return errors
}

/** Content for each view: deliveries of all kinds, a retry that waits, and a scenario. */
export async function fillStage({
  sandbox,
  fail,
}: PageStage): Promise<{ retrying: string; refused: string }> {
  await sandbox.trigger('event.published')
  await sandbox.trigger('order.created')
  await sandbox.trigger('event.cancelled')
  const { deliveries } = await sandbox.trigger('order.created', { scenario: 'stale' })
  fail(true)
  const retried = await sandbox.trigger('order.created')
  await sandbox.clock.advance('3h')
  sandbox.faults.add({ path: '/v2/venues', status: 503, delayMs: 1500, times: 2 })
  await sandbox.fetch('/v2/events/evt_none', { headers: { authorization: 'Bearer sk_test_a1b2' } })
  const [retrying] = retried.deliveries
  const [refused] = deliveries
  expect([retrying, refused]).not.toContain(undefined)
  return { retrying: String(retrying), refused: String(refused) }
}
