import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Traits } from '../cases/case.js'
import type { Client } from '../cases/client.js'
import { HERE } from './folders.js'

/** A server to test. */
export interface Lane {
  readonly name: string
  /** The packages whose versions stand in the table. */
  readonly versions: readonly string[]
  /** The command that starts it. */
  readonly command: readonly [program: string, ...args: string[]]
  /** Whether it is told its port: in the variable `PORT`, and for an argument `$PORT`. Default: it prints `listening <port>`. */
  readonly isToldPort?: boolean
  /** A command that has to be run before it. */
  readonly build?: readonly [program: string, ...args: string[]]
  /** The folder of both commands. Default: `runtimes/`. */
  readonly cwd?: string
  /** Where the host mounts the app. Default: its root. */
  readonly mountedAt?: string
  /** Where the file of examples/frameworks is mounted, if the server has it. */
  readonly recipe?: string
  /** The test of the recipe's path. Default: that of every recipe. */
  readonly check?: (client: Client) => Promise<void>
  /** Whether the recipe is all that it serves. */
  readonly isRecipeOnly?: boolean
  readonly traits?: Traits
  /** Programs on the PATH that must be there too. */
  readonly needs?: readonly string[]
  /** The backends through which the cost of a delivery is measured. */
  readonly measured?: readonly string[]
  /** The backends of the server that deliveries are sent through. */
  readonly backends?: readonly string[]
  /** The conformance cases that run inside the server. */
  readonly inside: readonly Inside[]
}

/** The cases of `tix-webhooks/testing` that a server can run in itself. */
export type Inside = 'adapter-cases' | `store-cases/${string}`

/** A program of a lane that is not on this machine. */
export function missing({ command: [program], needs = [] }: Lane): string | undefined {
  return [program, ...needs].find((one) => !(existsSync(one) || isOnPath(one)))
}

function isOnPath(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))
}

/** The versions of a lane's packages, as in `Express 5.3.0`. */
export function versionsOf({ versions }: Lane): string {
  return versions.map((name) => `${titleOf(name)} ${versionOf(name)}`).join(', ')
}

function titleOf(name: string): string {
  const titles: Readonly<Record<string, string>> = {
    '@oven/bun-linux-x64': 'Bun',
    '@deno/linux-x64-glibc': 'Deno',
  }
  return titles[name] ?? name.replace(/^node-\d+$/, 'Node').replace('h3-2', 'h3')
}

function versionOf(name: string): string {
  const { version } = JSON.parse(readFileSync(join(HERE, `node_modules/${name}/package.json`), 'utf8'))
  return version
}
