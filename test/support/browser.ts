import type { TestProject } from 'vitest/node'
import { findChromium } from './chromium.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether there is a browser to launch. */
    chromium: boolean
  }
}

/** Vitest's global setup: whether there is a browser. Without one its tests are skipped, and a line says so. */
export default async function setup(project: Pick<TestProject, 'provide'>): Promise<() => void> {
  const missing = await findChromium().then(
    () => undefined,
    (error: Error) => error,
  )
  if (missing !== undefined && process.env.CI === 'true') {
    throw new Error(`With CI=true nothing may be skipped: the tests of the page, because ${missing.message}`)
  }
  project.provide('chromium', missing === undefined)
  return () => {
    if (missing !== undefined) console.warn(`SKIPPED: the tests of the page, because ${missing.message}`)
  }
}
