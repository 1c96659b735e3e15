import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSandbox, type Sandbox } from 'tix-webhooks-sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'
import { barrier } from './support/engine-fixture.js'

const REFUSAL = 'The sandbox is closed: create another one.'

const post = (sandbox: Sandbox, body: object): Promise<Response> =>
  sandbox.fetch('/_sandbox/trigger', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'order.created', ...body }),
  })

describe('a sandbox that is closed', () => {
  test('has kept its state in the folder of its start, though the process went to another', async () => {
    const [folder, before] = [mkdtempSync(join(tmpdir(), 'sandbox-folder-')), process.cwd()]
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const warnings: string[] = []
    process.chdir(folder)
    const sandbox = createSandbox({ stateFile: 'state.json', onWarning: (message) => warnings.push(message) })
    process.chdir(before)
    sandbox.account.createEvent({
      title: 'Harbour Jazz',
      venue: { name: 'Yard' },
      doors_at: '2099-05-17T19:30:00Z',
      tickets: [{ name: 'GA', price_cents: 2700, quantity: 10 }],
    })
    await sandbox.close()
    expect([warnings, readdirSync(folder)]).toEqual([[], ['state.json']])
    expect(readFileSync(join(folder, 'state.json'), 'utf8')).toContain('Harbour Jazz')
  })

  test('triggers nothing and listens nowhere', async () => {
    const sandbox = createSandbox({ deliver: () => new Response() })
    await sandbox.close()
    await expect(sandbox.trigger('order.created')).rejects.toThrow(REFUSAL)
    await expect(sandbox.listen()).rejects.toThrow(REFUSAL)
    for (const body of [{}, { wait: true }, { scenario: 'stale' }]) {
      const answer = await post(sandbox, body)
      expect(answer.status).toBe(409)
      expect(await answer.json()).toMatchObject({ error: { code: 'sandbox_closed', message: REFUSAL } })
    }
    expect(sandbox.deliveries.list()).toEqual([])
    await sandbox.close()
  })

  test('keeps nobody waiting who waited when it was closed', async () => {
    const answer = barrier<Response>()
    const asked = barrier<void>()
    // The second one waits for the first, and so never begins.
    const sandbox = createSandbox({
      serial: true,
      deliver: () => {
        asked.open()
        return answer.opened
      },
    })
    const waiting = post(sandbox, { wait: true, repeat: 2 })
    await asked.opened
    await sandbox.close()
    expect((await waiting).status).toBe(201)
    answer.open(new Response())
  })

  test('has written its state, though it could not have the port that it asked for', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tix-closed-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const other = createServer()
    await new Promise<void>((resolve) => {
      other.listen(0, '127.0.0.1', resolve)
    })
    onTestFinished(() => void other.close())
    const stateFile = join(folder, 'state.json')
    const sandbox = createSandbox({ stateFile, deliver: () => new Response() })
    await sandbox.trigger('order.created')
    const refused = sandbox.listen({ port: (other.address() as AddressInfo).port })
    const closed = sandbox.close()
    await expect(refused).rejects.toThrow('is taken')
    await closed
    expect(JSON.parse(readFileSync(stateFile, 'utf8')).engine.deliveries).toHaveLength(1)
  })
})
