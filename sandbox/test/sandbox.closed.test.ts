import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSandbox, type Sandbox } from 'tix-webhooks-sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listen } from '../../test/support/http.js'
import { barrier } from './support/engine-fixture.js'

const REFUSAL = 'The sandbox is closed: create another one.'

const post = (sandbox: Sandbox, body: object): Promise<Response> =>
  sandbox.fetch('/_sandbox/trigger', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'order.created', ...body }),
  })

/** A folder that is removed after the test. */
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-closed-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

describe('a sandbox that is closed', () => {
  test('has saved its state in the folder of its start, even if the process has changed it', async () => {
    const [folder, before] = [newFolder(), process.cwd()]
    const warnings: string[] = []
    process.chdir(folder)
    const sandbox = createSandbox({ stateFile: 'state.json', onWarning: (message) => warnings.push(message) })
    process.chdir(before)
    sandbox.fill({ venues: [{ name: 'The Old Customs House' }] })
    await sandbox.close()
    expect([warnings, readdirSync(folder)]).toEqual([[], ['state.json']])
    expect(readFileSync(join(folder, 'state.json'), 'utf8')).toContain('The Old Customs House')
  })

  test('triggers nothing and does not listen', async () => {
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

  test('answers the calls that waited', async () => {
    const answer = barrier<Response>()
    const called = barrier<void>()
    const deliver = () => {
      called.open()
      return answer.opened
    }
    // The second delivery waits for the first, and so never begins.
    const sandbox = createSandbox({ serial: true, deliver })
    const waiting = post(sandbox, { wait: true, repeat: 2 })
    await called.opened
    await sandbox.close()
    expect((await waiting).status).toBe(201)
    answer.open(new Response())
  })

  test('has saved its state, even if its port was taken', async () => {
    const stateFile = join(newFolder(), 'state.json')
    const other = await listen(() => {})
    onTestFinished(() => other.close())
    const sandbox = createSandbox({ stateFile, deliver: () => new Response() })
    await sandbox.trigger('order.created')
    const refused = sandbox.listen({ port: other.port })
    const closed = sandbox.close()
    await expect(refused).rejects.toThrow('is taken')
    await closed
    expect(JSON.parse(readFileSync(stateFile, 'utf8')).engine.deliveries).toHaveLength(1)
  })
})
