/** @module-tag slow */
import { execFileSync } from 'node:child_process'
import fs, {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSandbox, type Sandbox, type SandboxOptions } from 'tix-webhooks-sandbox'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { SECRET } from '../../../../test/support/deliveries.js'
import { barrier } from '../../support/engine-fixture.js'

let folder: string
let stateFile: string
let warnings: string[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sandbox-state-'))
  stateFile = join(folder, 'state.json')
  warnings = []
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

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

describe('a sandbox with a state file', () => {
  test('goes on where it was: its data, its time, its log, its endpoints and their secrets', {
    tags: ['slow'],
  }, async () => {
    const first = open()
    await first.trigger('order.created')
    await first.clock.advance('2h')
    const before = [
      first.account.listEvents(),
      first.deliveries.list(),
      first.endpoints.list(),
      first.clock.now(),
    ]
    await first.close()

    const second = open()
    expect([
      second.account.listEvents(),
      second.deliveries.list(),
      second.endpoints.list(),
      second.clock.now(),
    ]).toEqual(before)
    await second.close()
  })

  test('tries again what waited, at the time it waited for', async () => {
    const first = open()
    await first.trigger('order.created')
    await first.clock.advance('2h')
    await first.close()

    const second = open({ deliver: working })
    expect(second.clock.nextAtMs).toBe(Date.parse('2026-11-20T18:00:00Z'))
    await second.clock.next()
    const [delivery] = second.deliveries.list()
    expect(delivery?.status).toBe('delivered')
    expect(delivery?.attempts.map(({ response }) => response?.status)).toEqual([
      500, 500, 500, 500, 500, 500, 204,
    ])
    await second.close()
  })

  test('gives no id twice, and no created_at, though it has the same seed', async () => {
    const ids = async () => {
      const sandbox = open({ seed: 1 })
      const { messages } = await sandbox.trigger('order.created', { repeat: 3 })
      await sandbox.close()
      return [
        ...messages,
        ...sandbox.deliveries.list().map(({ message }) => message.createdAt),
        ...sandbox.account.listEvents().data.map(({ id }) => id),
      ]
    }
    const first = await ids()
    const second = await ids()
    expect(new Set([...first, ...second]).size).toBe(second.length + 3)
  })

  test('[N140] gives no id twice without a seed, though what was saved is older than what was done', async () => {
    const sent = async () => {
      const sandbox = open()
      const text = readFileSync(stateFile, 'utf8')
      await sandbox.trigger('order.created', { repeat: 3 })
      sandbox.endpoints.create({ url: 'http://localhost/more' })
      const list = sandbox.deliveries.list()
      const { id: endpoint } = sandbox.endpoints.list().at(-1) ?? {}
      await sandbox.close()
      // The state of a process that was killed before it could write.
      writeFileSync(stateFile, text)
      return [
        endpoint,
        ...list.flatMap(({ id, message, attempts }) => [id, message.id, ...attempts.map(({ id }) => id)]),
        ...list.map(({ message }) => JSON.parse(message.body).data.order.id),
      ]
    }
    const ids = [...(await sent()), ...(await sent()), ...(await sent())]
    expect(ids).toHaveLength(39)
    expect(new Set(ids).size).toBe(39)
  })

  test('leaves no other file, and lets nobody else read the secrets in it', async () => {
    const sandbox = open()
    await sandbox.trigger('order.created')
    await sandbox.close()
    expect(readdirSync(folder)).toEqual(['state.json'])
    expect(statSync(stateFile).mode & 0o777).toBe(0o600)
  })

  test('writes nothing once it is closed, whatever is answered late: the next one has the file', async () => {
    const answer = barrier<Response>()
    const sandbox = open({ deliver: () => answer.opened })
    const attempt = new Promise<void>((resolve) => {
      sandbox.subscribe(({ what }) => what === 'attempt' && resolve())
    })
    const triggered = sandbox.trigger('order.created')
    await new Promise(setImmediate)
    await sandbox.close()
    const text = readFileSync(stateFile, 'utf8')
    answer.open(working())
    await Promise.all([attempt, triggered])
    await sandbox.close()
    expect(readFileSync(stateFile, 'utf8')).toBe(text)
  })

  test.each<[string, (sandbox: Sandbox) => unknown]>([
    ['a change without an event', ({ account }) => account.createEvent(EVENT)],
    ['what happened by itself', ({ clock }) => clock.advance('8000d')],
    [
      'a change',
      ({ account }) => account.updateEvent(account.listEvents().data[0]?.id ?? '', { title: 'Later' }),
    ],
    ['an endpoint', ({ endpoints }) => endpoints.create({ url: 'http://localhost/more' })],
    ['the time', ({ clock }) => clock.advance('1h')],
    ['that it runs', ({ clock }) => clock.run()],
    ['that there is nothing any more', (sandbox) => sandbox.reset()],
  ])('keeps %s', async (_, act) => {
    const first = open()
    first.account.publishEvent(first.account.createEvent(EVENT).id)
    await first.close()

    const second = open()
    await act(second)
    const seen = (sandbox: Sandbox) => [
      sandbox.account.listEvents(),
      sandbox.endpoints.list(),
      sandbox.clock.frozen,
      sandbox.clock.frozen && sandbox.clock.now(),
    ]
    const before = seen(second)
    await second.close()
    const third = open()
    expect(seen(third)).toEqual(before)
    await third.close()
  })

  test('keeps a secret that it made up, though nothing has happened, and it was killed', async () => {
    const start = () =>
      createSandbox({ stateFile, deliver: working, endpoints: [{ url: 'http://localhost/hooks' }] })
    const [first] = start().endpoints.list()
    rmSync(`${stateFile}.lock`)
    const second = start()
    expect(second.endpoints.list()).toEqual([first])
    await second.close()
  })
})

describe('a state file that cannot be used', () => {
  async function saved(): Promise<string> {
    const sandbox = open()
    await sandbox.trigger('order.created')
    await sandbox.close()
    return readFileSync(stateFile, 'utf8')
  }

  test.each<[string, (text: string) => string]>([
    ['is empty', () => ''],
    ['was cut off', (text) => text.slice(0, text.length / 2)],
    ['lost its last character', (text) => text.slice(0, -1)],
    ['is of another program', () => '{"name":"my-app","version":"1.0.0"}'],
    ['is of a later version', (text) => text.replace('"version":1', '"version":2')],
    ['holds a list', () => '[]'],
    ['has no accounts', (text) => JSON.stringify({ ...JSON.parse(text), accounts: {} })],
    [
      'has a foreign account',
      (text) => JSON.stringify({ ...JSON.parse(text), accounts: { test: [], live: [] } }),
    ],
    ['has foreign deliveries', (text) => JSON.stringify({ ...JSON.parse(text), engine: { deliveries: 1 } })],
    ['is no text', () => '\u0000\ufffd'],
  ])('because it %s is refused by name, and left as it is', async (_, spoil) => {
    const text = spoil(await saved())
    writeFileSync(stateFile, text)
    expect(() => open()).toThrow(`The state file ${stateFile} cannot be used: `)
    expect(() => open()).toThrow(/[^.]\. It was left as it is: name another file, or move this one away\.$/)
    expect(readFileSync(stateFile, 'utf8')).toBe(text)
  })

  test.each<[string, (target: string) => unknown]>([
    ['a symbolic link', (target) => symlinkSync(target, stateFile)],
    ['a symbolic link', (target) => symlinkSync(`${target}.new`, stateFile)],
    ['a folder', () => mkdirSync(stateFile)],
    ['a pipe or a device', () => execFileSync('mkfifo', [stateFile])],
  ])('because it is %s is refused, and what it leads to is left as it is', async (what, put) => {
    const text = await saved()
    const target = join(folder, 'target')
    renameSync(stateFile, target)
    put(target)
    expect(() => open()).toThrow(`The state file ${stateFile} cannot be used: it is ${what}, not a file. `)
    expect(readFileSync(target, 'utf8')).toBe(text)
    expect(readdirSync(folder).sort()).toEqual(['state.json', 'target'])
  })

  test('because a link took its place meanwhile is not written any more', async () => {
    const sandbox = open()
    const target = join(folder, 'target')
    renameSync(stateFile, target)
    const text = readFileSync(target, 'utf8')
    symlinkSync(target, stateFile)
    await sandbox.trigger('order.created')
    await sandbox.close()
    expect(warnings).toEqual([expect.stringContaining('could not be written: ')])
    expect(readFileSync(target, 'utf8')).toBe(text)
    expect(lstatSync(stateFile).isSymbolicLink()).toBe(true)
  })

  test('is not written through a link that stands beside it', async () => {
    const target = join(folder, 'target')
    writeFileSync(target, 'precious')
    symlinkSync(target, `${stateFile}.${process.pid}.tmp`)
    symlinkSync(target, `${stateFile}.tmp`)
    await saved()
    expect(readFileSync(target, 'utf8')).toBe('precious')
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

describe('a sandbox that cannot be made', () => {
  test.each<[string, SandboxOptions, () => () => void]>([
    ['its endpoint', { endpoints: [{ url: 'http://8.8.8.8/hooks' }] }, () => () => {}],
    ['its state file', { endpoints: [] }, fullDisk],
  ])('because of %s sends nothing of what it restored', async (_, options, spoil) => {
    const arrivals: string[] = []
    const server = createServer((request, response) => {
      arrivals.push(String(request.url))
      response.writeHead(500).end()
    })
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`
    const make = (options: SandboxOptions) => createSandbox({ stateFile, secret: SECRET, ...options })
    const first = make({ endpoints: [{ url }] })
    await first.trigger('order.created')
    expect(arrivals).toEqual(['/hooks'])
    first.clock.run()
    await first.close()
    const state = JSON.parse(readFileSync(stateFile, 'utf8'))
    state.saved_at = '2020-01-01T00:00:00.000Z'
    writeFileSync(stateFile, JSON.stringify(state))
    const restore = spoil()
    expect(() => make(options)).toThrow()
    restore()

    // All that is due at once is sent before this second one is answered.
    const second = createSandbox({ endpoints: [{ url: `${url}/second` }], secret: SECRET })
    await second.trigger('order.created')
    await second.close()
    expect(arrivals).toEqual(['/hooks', '/hooks/second'])
    await new Promise((resolve) => server.close(resolve))
  })
})

describe('a state file that cannot be written', () => {
  test('because its folder is not there is refused at once', () => {
    const missing = join(folder, 'missing')
    expect(() => open({ stateFile: join(missing, 'state.json') })).toThrow(
      `The folder ${missing} of the state file does not exist: make it first, or name another file.`,
    )
  })

  test('any more, because its folder is gone, is reported, and the sandbox goes on', async () => {
    const sandbox = open()
    rmSync(folder, { recursive: true })
    await sandbox.trigger('order.created')
    await sandbox.close()
    expect(sandbox.deliveries.list()).toHaveLength(1)
    expect(warnings).toEqual([expect.stringContaining('could not be written: ')])
  })

  test('because another sandbox writes it, which took its lock, is left to that one', async () => {
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
})

describe('a state file on a full disk', () => {
  const saved = (): number => JSON.parse(readFileSync(stateFile, 'utf8')).engine.deliveries.length

  test('is tried again until there is space, with one warning', async () => {
    const sandbox = open()
    const restore = fullDisk()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    await sandbox.trigger('order.created')
    vi.advanceTimersByTime(3_600_000)
    expect(warnings).toEqual([expect.stringContaining('could not be written: ENOSPC')])
    expect(readdirSync(folder)).toEqual(['state.json', 'state.json.lock'])
    expect(saved()).toBe(0)
    restore()
    vi.advanceTimersByTime(60_000)
    expect(saved()).toBe(1)

    // The next outage is another one.
    fullDisk()
    await sandbox.trigger('order.created')
    vi.advanceTimersByTime(3_600_000)
    expect(warnings).toHaveLength(2)
    await sandbox.close()
  })

  test('is written at the end, when there is space by then', async () => {
    const sandbox = open()
    const restore = fullDisk()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    await sandbox.trigger('order.created')
    vi.advanceTimersByTime(1000)
    restore()
    await sandbox.close()
    expect(saved()).toBe(1)
    expect(warnings).toHaveLength(1)
  })
})

describe('what a killed process left beside its state file', () => {
  test('is removed by the next start, and nothing else is', async () => {
    const leftOver = `${stateFile}.0123456789abcdef.tmp`
    const target = join(folder, 'target')
    for (const path of [leftOver, target]) writeFileSync(path, 'half')
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
})
