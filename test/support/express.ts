import { createRequire } from 'node:module'
import express, { type Express } from 'express'
import type { WebhookOptions } from 'tix-webhooks'
import { type ExpressWebhooks, tixWebhooks } from 'tix-webhooks/express'
import { onTestFinished } from 'vitest'
import { listen } from './http.js'
import type { MountedApp } from './raw-bytes-harness.js'
import { watched } from './watched.js'

const require = createRequire(import.meta.url)

/** Express 4 is installed without its types; the parts that the tests use are the same in 5. */
const express4 = require('express4') as typeof express

/** Each major version that the adapter supports. */
export const EXPRESS_VERSIONS = [
  { version: versionOf('express'), express },
  { version: versionOf('express4'), express: express4 },
] as const

export interface ExpressApp extends MountedApp {
  readonly hooks: ExpressWebhooks
}

/** An app that `arrange` sets up around a watched receiver; it is closed when the test ends. */
export async function expressApp(
  create: () => Express,
  arrange: (app: Express, hooks: ExpressWebhooks) => void,
  overrides: Partial<WebhookOptions> = {},
): Promise<ExpressApp> {
  const seen = watched(overrides)
  const hooks = tixWebhooks(seen.options)
  const app = create()
  arrange(app, hooks)
  const { port, close } = await listen(app)
  onTestFinished(close)
  return { ...seen, port, close, hooks }
}

function versionOf(name: string): string {
  const { version } = require(`${name}/package.json`) as { version: string }
  return version
}
