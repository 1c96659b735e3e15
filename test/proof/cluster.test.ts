import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { ddl } from 'tix-webhooks/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { useBundle } from '../support/bundle.js'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { freePort } from '../support/free-port.js'
import { onPostgres, postgresUrl, postgresVariables } from '../support/on-servers.js'
import { testDatabase } from '../support/postgres-database.js'
import { jsonHeaders } from '../support/raw-bytes-harness.js'

onPostgres('an app of several processes by node:cluster', () => {
  const database = testDatabase()
  const program = useBundle('examples/deploy/cluster.ts')

  /** @param preload code that runs in each process before the program */
  async function startApp(preload = '') {
    await database.query(ddl)
    const port = await freePort()
    const url = new URL(postgresUrl())
    url.searchParams.set('options', database.settings())
    const importing = `data:text/javascript,${encodeURIComponent(PRINTS_PID + preload)}`
    const primary = spawn(process.execPath, ['--import', importing, program()], {
      env: {
        PATH: process.env.PATH,
        ...postgresVariables(),
        DATABASE_URL: url.href,
        PORT: `${port}`,
        TIX_SIGNING_SECRET: SECRET,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = once(primary, 'exit')
    let output = ''
    primary.stdout.on('data', (chunk) => {
      output += chunk
    })
    const pids = () => Array.from(output.matchAll(/^worker (\d+)$/gm), ([, pid]) => Number(pid))
    const alive = () => pids().filter(isAlive)
    onTestFinished(() => {
      primary.kill('SIGKILL')
      for (const pid of alive()) process.kill(pid, 'SIGKILL')
    })
    const printed = (line: string, times = 1) =>
      expect.poll(() => output.split('\n').filter((one) => one === line)).toHaveLength(times)
    await printed('ready')
    return { primary, port, exited, printed, pids, alive }
  }

  test('refuses no delivery while its processes are replaced, whether or not a client keeps its connection', async () => {
    const { primary, port, exited, printed, pids, alive } = await startApp()
    let isOver = false
    const answers: Record<string, number> = {}
    const clients = Array.from({ length: 8 }, async (_, index) => {
      const agent = new Agent({ keepAlive: index % 2 === 0, maxSockets: 1 })
      while (!isOver) {
        const answer = await deliverBy(agent, port)
        answers[answer] = (answers[answer] ?? 0) + 1
      }
      agent.destroy()
    })
    primary.kill('SIGHUP')
    await expect.poll(() => pids().length).toBeGreaterThan(WORKERS)
    // Another deploy, before the first is over.
    primary.kill('SIGHUP')
    await printed('replaced', 2)
    isOver = true
    await Promise.all(clients)
    expect(answers).toEqual({ '200': expect.any(Number) })
    expect([pids().length, alive().length]).toEqual([3 * WORKERS, WORKERS])

    primary.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  })

  test('replaces a process that crashes, also before it listens, but not while the app ends', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'cluster-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const { primary, exited, pids, alive } = await startApp(crashesFirst(join(folder, 'crashed')))
    expect([pids().length, alive().length]).toEqual([WORKERS + 1, WORKERS])

    process.kill(Number(alive()[0]), 'SIGKILL')
    await expect.poll(() => [pids().length, alive().length]).toEqual([WORKERS + 2, WORKERS])
    primary.kill('SIGTERM')
    process.kill(Number(alive()[0]), 'SIGKILL')
    expect(await exited).toEqual([0, null])
    expect(pids()).toHaveLength(WORKERS + 2)
  })
})

const WORKERS = Math.max(2, availableParallelism())

const PRINTS_PID = `
  import cluster from 'node:cluster'
  import { writeFileSync } from 'node:fs'
  if (cluster.isWorker) console.log('worker ' + process.pid);`

/** The first worker that starts crashes at once. */
const crashesFirst = (file: string): string => `
  try {
    if (cluster.isWorker) writeFileSync(${JSON.stringify(file)}, '', { flag: 'wx' })
    if (cluster.isWorker) process.exit(1)
  } catch {}`

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** The status, or the code of the error of the connection. */
async function deliverBy(agent: Agent, port: number): Promise<string> {
  const { header, body } = await sign(orderCreated())
  const sent = request({
    port,
    host: '127.0.0.1',
    path: '/hooks',
    method: 'POST',
    agent,
    headers: jsonHeaders(header),
  })
  sent.end(body)
  try {
    const [response] = await once(sent, 'response')
    response.resume()
    await once(response, 'end')
    return `${response.statusCode}`
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
}
