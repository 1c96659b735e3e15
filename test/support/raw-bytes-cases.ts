import { clientCases } from './raw-bytes-clients.js'
import { contentCases } from './raw-bytes-contents.js'
import type { RawBytesCase } from './raw-bytes-harness.js'
import { sizeCases } from './raw-bytes-sizes.js'

export { harnessOf, type MountedApp, type RawBytesCase, type RawBytesHarness } from './raw-bytes-harness.js'

/** What holds for every adapter on a real socket. No test runner in it: loop over it with `run(harness)`. */
export const rawBytesCases: readonly RawBytesCase[] = [...sizeCases, ...contentCases, ...clientCases]
