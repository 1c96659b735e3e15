/** @module-tag slow */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tixWebhooks } from 'tix-webhooks/node'
import { sampleEvent } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
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

interface Fixture extends CliSandbox {
  readonly receiver: string
}

/** A sandbox with an endpoint that takes everything, and what it took, refused, and missed while it was disabled. */
async function startFixture(): Promise<Fixture> {
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

/** A line of an example, with the values that are known only when it runs. */
async function filled(line: string, { receiver, json }: Fixture): Promise<string> {
  const [{ id: delivery = '' } = {}] = (await json('deliveries')) as { id: string }[]
  const [{ id: endpoint = '' } = {}] = (await json('endpoints')) as { id: string }[]
  const [{ id: fault = '' } = {}] = (await json('faults')) as { id: string }[]
  return line
    .replace('http://localhost:3000/hooks', receiver)
    .replace('dlv_4eC39HqLyjWDarjtT1zd', delivery)
    .replace('we_4eC39HqLyjWDarjtT1zd', endpoint)
    .replace('flt_4eC39HqLyjWDarjtT1zd', fault)
    .replace('--port 4020', '--port 0')
}

/** Each of its examples leaves nothing for the next one. */
const ALONE: readonly string[] = ['resend']

/** One sandbox for all examples of a command, in their order. */
describe('the examples of the help work as they stand:', () => {
  test.each(commands)('$name', async ({ name, examples }) => {
    let fixture = await startFixture()
    for (const [index, { line }] of examples.entries()) {
      if (index > 0 && ALONE.includes(name)) fixture = await startFixture()
      expect(line.startsWith(`tix-webhooks ${name}`)).toBe(true)
      await runExample(name, line, fixture)
    }
  })
})

async function runExample(name: string, line: string, fixture: Fixture): Promise<void> {
  const { words, stdin } = shellWords(await filled(line, fixture))
  expect(words[0]).toBe('tix-webhooks')
  const argv = words.slice(1)
  const surroundings = {
    cwd: fixture.folder,
    env: { TIX_SANDBOX_URL: fixture.url },
    ...(stdin !== undefined && { stdin: FILES[stdin as keyof typeof FILES] }),
  }
  const ready = LASTING[name]
  if (ready === undefined) {
    const { code, stdout, stderr } = await run(argv, surroundings)
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
    // That nothing matches is a note.
    expect(stdout + stderr).not.toBe('')
    return
  }
  // The default port may be taken on the machine of the test.
  const isOnDefaultPort = name === 'sandbox' && !argv.includes('--port')
  const session = begin(isOnDefaultPort ? [...argv, '--port', '0'] : argv, {
    ...surroundings,
    cwd: emptyFolder(),
  })
  await session.record(isEvent(ready))
  expect(await session.stop()).toMatchObject({ code: 0 })
}
