import { clientCases } from './raw-bytes-clients.js'
import type { RawBytesCase } from './raw-bytes-harness.js'
import { headerCases } from './raw-bytes-headers.js'
import { sizeCases } from './raw-bytes-sizes.js'

export { harnessOf, type MountedApp, type RawBytesCase } from './raw-bytes-harness.js'

/**
 * What holds for every adapter and only a raw socket can show: what whole requests show is in `adapterCases`. No test runner in
 * it: loop over it with `run(harness)`.
 */
export const rawBytesCases: readonly RawBytesCase[] = [...sizeCases, ...headerCases, ...clientCases]
