import { access, constants } from 'node:fs/promises'
import { type Browser, chromium } from 'playwright-core'
import { WAIT_LIMIT_MS } from './patience.js'

/** Debian's, unless `CHROMIUM` says where another one is. */
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'

/** Nothing is fetched from elsewhere, and a container needs no sandbox of the browser's own. */
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS, timeout: WAIT_LIMIT_MS })
}

/** Rejects, with what to do, where there is none to launch. */
export async function findChromium(): Promise<void> {
  try {
    await access(CHROMIUM, constants.X_OK)
  } catch (error) {
    throw new Error(`${CHROMIUM} is missing (apt-get install chromium, or set CHROMIUM)`, { cause: error })
  }
}
