import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { snippetsOf } from '../support/compile.js'
import { freePort } from '../support/free-port.js'
import { install, pack } from '../support/packed.js'
import { readPage } from '../support/pages.js'
import { shellWords } from '../support/shell-words.js'

const [, section = ''] = /^## Five minutes\n([\s\S]*?)^## /m.exec(readPage('README.md')) ?? []
const COMMANDS = [...section.matchAll(/npx tix-webhooks ([^`\n]+)/g)].map(([, line = '']) => line)

let temporary: string
let project: string
const children: ChildProcess[] = []

beforeAll(() => {
  const packed = pack()
  temporary = packed.temporary
  project = install([packed.receiver, packed.sandbox], 'five-minutes', { express: 'express' })
}, 120_000)

afterAll(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  rmSync(temporary, { recursive: true, force: true })
})

interface Started {
  readonly child: ChildProcess
  /** Its standard output so far. */
  readonly printed: () => string
  /** Its standard error so far. */
  readonly logged: () => string
  /** Resolves when the text has been printed. */
  until(text: string): Promise<void>
}

function start(args: readonly string[]): Started {
  const child = spawn(process.execPath, args, { cwd: project, env: { PATH: process.env.PATH } })
  children.push(child)
  let printed = ''
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  let failed = ''
  child.stderr.on('data', (chunk) => {
    failed += chunk
  })
  return {
    child,
    printed: () => printed,
    logged: () => failed,
    async until(text) {
      while (!printed.includes(text)) {
        if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${printed}${failed}`)
        await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
      }
    },
  }
}

/** Starts a command of the README unchanged, except for the ports. */
function startCommand(name: string, ports: Readonly<Record<string, string>>, ...more: string[]): Started {
  const line = COMMANDS.find((command) => command.startsWith(name)) ?? ''
  const words = shellWords(line).words.map((word) => word.replace(/3000/, ports[3000] ?? '3000'))
  const bin = join(project, 'node_modules', packageJson.name, packageJson.bin['tix-webhooks'])
  return start([bin, ...words, ...more])
}

async function ended({ child, printed }: Started): Promise<[number | null, string]> {
  if (child.exitCode === null) await once(child, 'close')
  return [child.exitCode, printed()]
}

async function listens(port: number, app: ChildProcess): Promise<void> {
  while (app.exitCode === null) {
    const socket = connect(port, '127.0.0.1')
    const isUp = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isUp) return
    await setTimeout(20)
  }
  throw new Error(`the app ended with ${app.exitCode}`)
}

const withoutIds = (text: string): string =>
  text
    .replaceAll(/dlv_\w+/g, 'dlv_…')
    .replaceAll(/:\d+\/hooks/g, '/hooks')
    .replaceAll(/\d+(\.\d+)? m?s$/gm, '… ms')

test('the five minutes of the README work as they stand, from the tarball', async () => {
  const port = await freePort()
  const ports = { 3000: String(port) }
  const [app = ''] = snippetsOf('README.md', 'js')
  writeFileSync(join(project, 'app.mjs'), app.replace('3000', ports[3000]))

  const [secretExit, line] = await ended(startCommand('secret', ports))
  expect([secretExit, line]).toEqual([0, expect.stringMatching(/^TIX_SIGNING_SECRET=whsec_[\w-]+\n$/)])
  appendFileSync(join(project, '.env'), line)

  const running = start(['--env-file=.env', 'app.mjs'])
  await listens(port, running.child)
  const sandbox = startCommand('sandbox', ports, '--port', '0')
  await sandbox.until('Ctrl-C')

  const [exit, answer] = await ended(startCommand('trigger', ports))
  expect([exit, withoutIds(answer)]).toEqual([0, withoutIds(snippetsOf('README.md', 'text')[0] ?? '')])
  await running.until('\n')
  expect(running.printed()).toBe('2 tickets for buyer1@example.com\n')

  running.child.kill('SIGKILL')
  await once(running.child, 'exit')
  writeFileSync(
    join(project, 'app.mjs'),
    app.replace('3000', ports[3000]).replace(/console\.log\(.*\)/, "throw new Error('no')"),
  )
  const throwing = start(['--env-file=.env', 'app.mjs'])
  await listens(port, throwing.child)
  const [failedExit] = await ended(startCommand('trigger', ports))
  expect(failedExit).toBe(1)
  const [advancedExit] = await ended(startCommand('advance', ports))
  expect(advancedExit).toBe(0)
  await sandbox.until('given up')
  // Only the app's frames: not ours, not Node's.
  expect(throwing.logged()).toMatch(
    /^tix-webhooks: \[order\.created default\/order\.created\/ord_\w+\] no\n {4}Error: no\n {8}at [^\n]*app\.mjs:\d+:\d+\)\ntix-webhooks: /,
  )
  expect(sandbox.printed().match(/<-- \[500\]/g)).toHaveLength(11)
}, 120_000)
