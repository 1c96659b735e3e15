// Prints the totals of the last test run as one line. A run that left no results, or ran nothing, has failed.
import { readFileSync } from 'node:fs'

const results = JSON.parse(readFileSync(new URL('../test-results.json', import.meta.url), 'utf8'))
const { numPassedTests: passed, numFailedTests, numPendingTests: skipped } = results
// A file can fail without a test that did: it could not be loaded, or has a suite without tests.
const failedFiles = results.testResults.filter(
  ({ status, assertionResults }) =>
    status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
)
const failed = numFailedTests + failedFiles.length
console.info(`${passed} passed, ${failed} failed, ${skipped} skipped`)
if (passed === 0 || failed > 0) process.exitCode = 1
