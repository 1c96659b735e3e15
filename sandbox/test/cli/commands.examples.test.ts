/** @module-tag slow */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tixWebhooks } from 'tix-webhooks/node'
import { sampleEvent } from 'tix-webhooks/testing'
import { expect, test } from 'vitest'
import { shellWords } from '../../../test/support/shell-words.js'
import { commands } from '../../cli/commands.js'
import { begin, type CliSandbox, emptyFolder, isEvent, listening, run, sandbox } from '../support/cli.js'

const secret = 'whsec_test'

const FILES = {
  'order.json': '{"type":"order.created"}',
  'data.json': JSON.stringify(sampleEvent('order.created').data),
  'captured.json': JSON.stringify(sampleEvent('order.created')),
  'fixtures.json': '{"venues":[{"name":"The Boathouse"}]}',
}

/** Commands that run until Ctrl-C. */
const LASTING: Readonly<Record<string, string>> = { sandbox: 'ready', listen: 'listening' }

/** A sandbox with an endpoint that takes everything, and what it took, refused, and missed while it was disabled. */
async function startFixture(): Promise<CliSandbox & { receiver: string }> {
  const hook = tixWebhooks({
    secret,
    on: { 'order.created': () => {}, 'event.*': () => {} },
    onUnhandled: () => {},
    onError: () => {},
  })
  const { url: receiver } = await listening(hook)
  const running = await sandbox(`--to ${receiver} --secret ${secret} --freeze`)
  await running.json('trigger', 'order.created')
  await running.json('trigger', 'order.created', '--scenario', 'wrong-secret')
  const [{ id = '' } = {}] = (await running.json('endpoints')) as { id: string }[]
  await running.json('endpoints', 'disable', id)
  await running.json('trigger', 'event.published', '--no-wait')
  await running.json('endpoints', 'enable', id)
  await running.json('faults', 'add', '/v2/none', '--status', '500')
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(running.folder, name), text)
  return { ...running, receiver }
}

const EXAMPLES = commands.flatMap(({ name, examples }) => examples.map(({ line }) => ({ name, line })))

test.each(EXAMPLES)('the example of the help works as it stands: $line', async ({ name, line }) => {
  const { receiver, json, folder, url } = await startFixture()
  const firstOf = async (list: string): Promise<string> => String((await json(list))[0]?.id)
  // With the values that are known only when it runs.
  const filled = line
    .replace('http://localhost:3000/hooks', receiver)
    .replace('dlv_4eC39HqLyjWDarjtT1zd', await firstOf('deliveries'))
    .replace('we_4eC39HqLyjWDarjtT1zd', await firstOf('endpoints'))
    .replace('flt_4eC39HqLyjWDarjtT1zd', await firstOf('faults'))
    .replace('--port 4020', '--port 0')
  expect(filled.startsWith(`tix-webhooks ${name}`)).toBe(true)
  const { words, stdin } = shellWords(filled)
  const argv = words.slice(1)
  const env = { TIX_SANDBOX_URL: url }
  const ready = LASTING[name]
  if (ready === undefined) {
    const input = stdin === undefined ? '' : FILES[stdin as keyof typeof FILES]
    const { code, stdout, stderr } = await run(argv, { cwd: folder, env, stdin: input })
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
    // That nothing matches is a note.
    expect(stdout + stderr).not.toBe('')
    return
  }
  // The default port may be taken on the machine of the test.
  const isOnDefaultPort = name === 'sandbox' && !argv.includes('--port')
  const port = isOnDefaultPort ? ['--port', '0'] : []
  const session = begin([...argv, ...port], { cwd: emptyFolder(), env })
  await session.record(isEvent(ready))
  expect(await session.stop()).toMatchObject({ code: 0 })
})
