/** @module-tag slow */
import { execFileSync } from 'node:child_process'
import fs, {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { createSandbox, type Sandbox, type SandboxOptions } from 'tix-webhooks-sandbox'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { SECRET } from '../../../../test/support/deliveries.js'
import { listen } from '../../../../test/support/http.js'
import { deferred } from '../../../../test/support/promises.js'
import { emptyFolder } from '../../support/cli.js'

let folder: string
let stateFile: string
let warnings: string[]

beforeEach(() => {
  folder = emptyFolder()
  stateFile = join(folder, 'state.json')
  warnings = []
})

const EVENT = {
  title: 'Harbour Jazz',
  venue: { name: 'The Old Customs House' },
  doors_at: '2027-05-17T19:30:00+02:00',
  tickets: [{ name: 'GA', price_cents: 2700, quantity: 10 }],
}

const failing = () => new Response(null, { status: 500 })
const working = () => new Response(null, { status: 204 })

function open(options: SandboxOptions = {}): Sandbox {
  return createSandbox({
    startAt: '2026-11-20T12:00:00Z',
    secret: SECRET,
    deliver: failing,
    jitter: 0,
    stateFile,
    onWarning: (message) => warnings.push(message),
    ...options,
  })
}

async function saved(): Promise<string> {
  const sandbox = open()
  await sandbox.trigger('order.created')
  await sandbox.close()
  return readFileSync(stateFile, 'utf8')
}

/** All that a sandbox shows of its state. */
const shown = ({ account, deliveries, endpoints, clock }: Sandbox) => [
  account.listEvents(),
  deliveries.list(),
  endpoints.list(),
  clock.frozen,
  clock.frozen && clock.now(),
]

describe('a sandbox with a state file', () => {
  test.each<[string, (sandbox: Sandbox) => unknown]>([
    ['an event without a webhook', ({ account }) => account.createEvent(EVENT)],
    ['deliveries', (sandbox) => sandbox.trigger('order.created')],
    ['the changes by the clock', ({ clock }) => clock.advance('8000d')],
    [
      'a change of an event',
      ({ account }) => account.updateEvent(account.listEvents().data[0]?.id ?? '', { title: 'Later' }),
    ],
    ['an endpoint', ({ endpoints }) => endpoints.create({ url: 'http://localhost/more' })],
    ['its time', ({ clock }) => clock.advance('1h')],
    ['a running clock', ({ clock }) => clock.run()],
    ['a reset', (sandbox) => sandbox.reset()],
  ])('keeps %s', async (_, act) => {
    const first = open()
    first.account.publishEvent(first.account.createEvent(EVENT).id)
    await first.close()
    const second = open()
    await act(second)
    const before = shown(second)
    await second.close()
    const third = open()
    expect(shown(third)).toEqual(before)
    await third.close()
    expect(readdirSync(folder)).toEqual(['state.json'])
    expect(statSync(stateFile).mode & 0o777).toBe(0o600)
  })

  test('writes nothing after it is closed, even for a late answer', async () => {
    const answer = deferred<Response>()
    const sandbox = open({ deliver: () => answer.promise })
    const attempt = new Promise<void>((resolve) => {
      sandbox.subscribe(({ what }) => what === 'attempt' && resolve())
    })
    const triggered = sandbox.trigger('order.created')
    await new Promise(setImmediate)
    await sandbox.close()
    const text = readFileSync(stateFile, 'utf8')
    answer.resolve(working())
    await Promise.all([attempt, triggered])
    await sandbox.close()
    expect(readFileSync(stateFile, 'utf8')).toBe(text)
  })

  test('keeps a secret that it made, even if it is killed at once', async () => {
    const start = () =>
      createSandbox({ stateFile, deliver: working, endpoints: [{ url: 'http://localhost/hooks' }] })
    const [first] = start().endpoints.list()
    rmSync(`${stateFile}.lock`)
    const second = start()
    expect(second.endpoints.list()).toEqual([first])
    await second.close()
  })
})

describe('a state file is refused by name, and left as it is, if it', () => {
  const replaced = (fields: object) => (text: string) => JSON.stringify({ ...JSON.parse(text), ...fields })

  test.each<[string, (text: string) => string]>([
    ['is empty', () => ''],
    ['lost its last character', (text) => text.slice(0, -1)],
    ['is of another program', () => '{"name":"my-app","version":"1.0.0"}'],
    ['is of a later version', (text) => text.replace('"version":1', '"version":2')],
    ['has invalid accounts', replaced({ accounts: { test: [], live: [] } })],
    ['has invalid deliveries', replaced({ engine: { deliveries: 1 } })],
  ])('%s', async (_, spoil) => {
    const text = spoil(await saved())
    writeFileSync(stateFile, text)
    expect(() => open()).toThrow(`The state file ${stateFile} cannot be used: `)
    expect(() => open()).toThrow(/[^.]\. It was left as it is: name another file, or move this one away\.$/)
    expect(readFileSync(stateFile, 'utf8')).toBe(text)
  })

  test.each<[string, (target: string) => unknown]>([
    ['a symbolic link', (target) => symlinkSync(target, stateFile)],
    ['a folder', () => mkdirSync(stateFile)],
    ['a pipe or a device', () => execFileSync('mkfifo', [stateFile])],
  ])('is %s, and so is its target', async (what, put) => {
    const text = await saved()
    const target = join(folder, 'target')
    renameSync(stateFile, target)
    put(target)
    expect(() => open()).toThrow(`The state file ${stateFile} cannot be used: it is ${what}, not a file. `)
    expect(readFileSync(target, 'utf8')).toBe(text)
    expect(readdirSync(folder).sort()).toEqual(['state.json', 'target'])
  })
})

/** From now on no file can be written, until the function that it returns is called. */
function fullDisk(): () => void {
  const { writeFileSync } = fs
  const set = (write: typeof writeFileSync): void => {
    fs.writeFileSync = write
    syncBuiltinESMExports()
  }
  const restore = (): void => set(writeFileSync)
  onTestFinished(restore)
  set(() => {
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  })
  return restore
}

test.each<[string, SandboxOptions, () => () => void]>([
  ['its endpoint', { endpoints: [{ url: 'http://8.8.8.8/hooks' }] }, () => () => {}],
  ['its state file', { endpoints: [] }, fullDisk],
])('a sandbox that is refused for %s sends nothing of what it restored', async (_, options, spoil) => {
  const arrivals: string[] = []
  const receiver = await listen((request, response) => {
    arrivals.push(String(request.url))
    response.writeHead(500).end()
  })
  onTestFinished(() => receiver.close())
  const url = `${receiver.url}/hooks`
  const make = (options: SandboxOptions) => createSandbox({ stateFile, secret: SECRET, ...options })
  const first = make({ endpoints: [{ url }] })
  await first.trigger('order.created')
  first.clock.run()
  await first.close()
  const state = JSON.parse(readFileSync(stateFile, 'utf8'))
  writeFileSync(stateFile, JSON.stringify({ ...state, saved_at: '2020-01-01T00:00:00.000Z' }))
  const restore = spoil()
  expect(() => make(options)).toThrow()
  restore()

  // All that is due at once is sent before this second one is answered.
  const second = createSandbox({ endpoints: [{ url: `${url}/second` }], secret: SECRET })
  await second.trigger('order.created')
  await second.close()
  expect(arrivals).toEqual(['/hooks', '/hooks/second'])
})

describe('a state file that cannot be written', () => {
  /** How many deliveries are in the file. */
  const written = (): number => JSON.parse(readFileSync(stateFile, 'utf8')).engine.deliveries.length

  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  test('is left to another sandbox that took its lock', async () => {
    const first = open()
    rmSync(`${stateFile}.lock`)
    const second = open()
    await first.trigger('order.created')
    await second.trigger('event.published')
    await second.close()
    const text = readFileSync(stateFile, 'utf8')
    await first.close()
    expect(warnings).toEqual([expect.stringContaining('Is another sandbox using it?')])
    expect(readFileSync(stateFile, 'utf8')).toBe(text)
  })

  test('is retried while the disk is full, with one warning each time it fills', async () => {
    const sandbox = open()
    const restore = fullDisk()
    await sandbox.trigger('order.created')
    vi.advanceTimersByTime(3_600_000)
    expect(warnings).toEqual([expect.stringContaining('could not be written: ENOSPC')])
    expect(readdirSync(folder)).toEqual(['state.json', 'state.json.lock'])
    expect(written()).toBe(0)
    restore()
    vi.advanceTimersByTime(60_000)
    expect(written()).toBe(1)

    const restoreAgain = fullDisk()
    await sandbox.trigger('order.created')
    vi.advanceTimersByTime(3_600_000)
    restoreAgain()
    await sandbox.close()
    expect(warnings).toHaveLength(2)
    expect(written()).toBe(2)
  })
})

test('a start removes the half-written file of a killed process, and no other', async () => {
  const target = join(folder, 'target')
  for (const path of [`${stateFile}.0123456789abcdef.tmp`, target]) writeFileSync(path, 'half')
  const kept = ['0123456789abcdeg.tmp', '0123456789abcdef.tmp.bak', '0123456789abcde.tmp', 'tmp']
  for (const end of kept) writeFileSync(`${stateFile}.${end}`, 'mine')
  symlinkSync(target, `${stateFile}.fedcba9876543210.tmp`)
  mkdirSync(`${stateFile}.aaaaaaaaaaaaaaaa.tmp`)
  writeFileSync(join(folder, 'other.json.0123456789abcdef.tmp'), 'of another')
  const before = readdirSync(folder)
  await open().close()
  const gone = before.filter((name) => !readdirSync(folder).includes(name))
  expect(gone).toEqual(['state.json.0123456789abcdef.tmp'])
})
