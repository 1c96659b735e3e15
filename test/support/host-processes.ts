import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { afterAll } from 'vitest'
import type { HostName } from './apps/hosts.js'
import { useBundle } from './bundle.js'

/** A framework's app in its own process, which ends at an uncaught error as in production. */
export interface HostProcess {
  readonly port: number
  /** Its output when it ended, or `undefined` while it runs. */
  readonly death: string | undefined
}

/** Starts hosts for the tests of a file, and stops all of them. */
export function useHosts(): { start(name: HostName): Promise<HostProcess> } {
  const children = new Set<ChildProcess>()
  const bundled = useBundle('test/support/apps/hosts.ts')

  async function start(name: HostName): Promise<HostProcess> {
    const child = fork(bundled(), [name], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      // Express prints the errors that its default handler answers, unless NODE_ENV is test.
      env: { ...process.env, NODE_ENV: 'test' },
    })
    children.add(child)
    let printed = ''
    let death: string | undefined
    child.stderr?.on('data', (data) => {
      printed += data
    })
    child.once('exit', (code, signal) => {
      death = `${name} ended with ${signal ?? code}: ${printed}`
    })
    const port = await new Promise<number>((resolve, reject) => {
      child.once('message', (message: { port: number }) => resolve(message.port))
      child.once('exit', () => reject(new Error(death)))
    })
    return {
      port,
      get death() {
        return death
      },
    }
  }

  afterAll(async () => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    }
  })
  return { start }
}
