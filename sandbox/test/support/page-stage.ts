import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page, ViewportSize } from 'playwright-core'
import { memoryFailures, type ParkAfter, type Replayed } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/node'
import { createSandbox, type Sandbox, type SandboxOptions } from 'tix-webhooks-sandbox'
import { beforeAll, describe, expect, inject, onTestFinished } from 'vitest'
import { launchChromium } from '../../../test/support/chromium.js'

/** `describe` for tests in a browser: skipped where there is none. */
export const inBrowser = describe.skipIf(!inject('chromium'))

export const SECRET = 'whsec_q8J2mZ4vT1xR7bN5'

/** A sandbox on a port, and a receiver of ours that it delivers to. */
export interface PageStage {
  readonly sandbox: Sandbox
  /** The URL of the receiver. */
  readonly hooks: string
  /** Whether its handler fails from now on. */
  fail(fails: boolean): void
  /** Has it replay all that it has kept. */
  replay(): Promise<readonly Replayed[]>
}

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

/** Everything started here is closed at the end of the test. */
export async function pageStage({
  port,
  answer,
  failure,
  parkAfter,
  ...options
}: PageStageOptions = {}): Promise<PageStage> {
  let fails = false
  const handle = (): void => {
    if (fails) throw new Error('The mail server is down.')
  }
  const on = { 'order.created': handle, 'event.published': handle, 'event.cancelled': handle }
  const own = tixWebhooks({
    secret: SECRET,
    onError: () => {},
    on,
    failures: memoryFailures(),
    namespace: 'orders',
    parkAfter,
  })
  const receiver = createServer((request, response) => {
    const given = answer ?? (fails ? failure : undefined)
    if (given === undefined) own(request, response)
    else response.writeHead(given.status, given.headers).end(given.body)
  })
  const hooks = `http://127.0.0.1:${await portOf(receiver)}/hooks`
  const sandbox = createSandbox({
    secret: SECRET,
    endpoints: [{ url: hooks }],
    startAt: '2026-11-22T18:30:00Z',
    seed: 7,
    onWarning: () => {},
    ...options,
  })
  await sandbox.listen(port === undefined ? {} : { port })
  onTestFinished(async () => {
    await sandbox.close()
    receiver.closeAllConnections()
    receiver.close()
  })
  return {
    sandbox,
    hooks,
    fail(given) {
      fails = given
    },
    replay: () => own.replay({}),
  }
}

async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Opens pages, in a browser that all files of this process share. */
export interface Opener {
  /** Opens a part of the sandbox's page, such as `#/events`. What it logs as an error fails the test. */
  open(stage: Pick<PageStage, 'sandbox'>, hash?: string, options?: OpenOptions): Promise<{ page: Page }>
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
export function useBrowser(): Opener {
  beforeAll(async () => {
    shared ??= launchTab()
    await shared
  }, 60_000)
  return {
    async open(
      { sandbox },
      hash = '',
      { viewport = VIEWPORT, colorScheme = 'light', permissions = [], mayFail = false } = {},
    ) {
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
  context.setDefaultTimeout(10_000)
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
