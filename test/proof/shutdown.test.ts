import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ROOT } from '../support/root.js'

const run = promisify(execFile)

/** Runs a script in its own process, and returns its output. */
async function inProcess(code: string): Promise<string[]> {
  const script = `
    import { createReceiver } from 'tix-webhooks'
    import { sampleEvent, signedBody } from 'tix-webhooks/testing'
    const secret = 'whsec_test'
    const bytes = new TextEncoder().encode(JSON.stringify(sampleEvent('event.published')))
    const deliver = async (receiver) => {
      const { header, body } = await signedBody(bytes, { secret })
      return receiver.receive({ header, body, request: null })
    }
    ${code}`
  const tsx = join(ROOT, 'node_modules/.bin/tsx')
  const { stdout } = await run(tsx, ['--input-type=module', '-e', script], { cwd: ROOT })
  return stdout.trim().split('\n')
}

test('a process stays for a drain until the handler that never settles is given up, and for what comes after', async () => {
  const lines = await inProcess(`
    const handler = () => new Promise(() => {})
    const receiver = createReceiver({ secret, timeoutSeconds: 0.05, maxRunSeconds: 0.2, on: { 'event.published': handler }, onError() {} })
    console.log((await deliver(receiver)).outcome)
    await receiver.drain()
    console.log('drained')`)
  expect(lines).toEqual(['timed_out', 'drained'])
})

test('a process with nothing else to do ends, though a handler has not settled', async () => {
  const lines = await inProcess(`
    const handler = () => new Promise(() => {})
    const receiver = createReceiver({ secret, timeoutSeconds: 0.05, on: { 'event.published': handler }, onError() {} })
    console.log((await deliver(receiver)).outcome)`)
  expect(lines).toEqual(['timed_out'])
})
