import { clientCases } from './raw-bytes-clients.js'
import type { RawBytesCase } from './raw-bytes-harness.js'
import { headerCases } from './raw-bytes-headers.js'
import { sizeCases } from './raw-bytes-sizes.js'

export { harnessOf, type MountedApp, type RawBytesCase } from './raw-bytes-harness.js'

/**
 * Rules for every adapter that only a raw socket can show; `adapterCases` covers whole requests. Without a test runner: loop over
 * it with `run(harness)`.
 */
export const rawBytesCases: readonly RawBytesCase[] = [...sizeCases, ...headerCases, ...clientCases]
