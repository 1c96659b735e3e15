// Prints the totals of the last test run as one line. A run that left no results, or ran nothing, has failed.
import { readFileSync } from 'node:fs'

const results = JSON.parse(readFileSync(new URL('../test-results.json', import.meta.url), 'utf8'))
const { numPassedTests: passed, numFailedTests: failed, numPendingTests: skipped } = results
console.info(`${passed} passed, ${failed} failed, ${skipped} skipped`)
if (passed === 0 || failed > 0) process.exitCode = 1
