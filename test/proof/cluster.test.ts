import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
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

  test('refuses no delivery while its processes are replaced, whether or not a client keeps its connection', async () => {
    await database.query(ddl)
    const port = await freePort()
    const url = new URL(postgresUrl())
    url.searchParams.set('options', database.settings())
    const primary = spawn(process.execPath, [program()], {
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
    onTestFinished(() => void primary.kill('SIGKILL'))
    let output = ''
    primary.stdout.on('data', (chunk) => {
      output += chunk
    })
    const printed = (line: string) => expect.poll(() => output.split('\n')).toContain(line)
    await printed('ready')

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
    await printed('replaced')
    isOver = true
    await Promise.all(clients)
    expect(answers).toEqual({ '200': expect.any(Number) })

    primary.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  })
})

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
