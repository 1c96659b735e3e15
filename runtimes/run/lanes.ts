import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Traits } from '../cases/case.js'
import { BUILT, HERE } from './folders.js'

/** A server to test. */
export interface Lane {
  readonly name: string
  /** The packages whose versions stand in the table. */
  readonly versions: readonly string[]
  /** The command that starts it: it prints `listening <port>`. */
  readonly command: readonly [program: string, ...args: string[]]
  /** A command that has to be run before it. */
  readonly build?: readonly [program: string, ...args: string[]]
  /** The folder of both commands. Default: `runtimes/`. */
  readonly cwd?: string
  readonly traits?: Traits
  /** The conformance cases that run inside the server. */
  readonly inside: readonly Inside[]
}

/** The cases of `tix-webhooks/testing` that a server can run in itself. */
export type Inside = 'adapter-cases' | 'store-cases/memory' | 'store-cases/sqlite'

const BUN = join(HERE, 'node_modules/@oven/bun-linux-x64/bin/bun')
const DENO = join(HERE, 'node_modules/@deno/linux-x64-glibc/deno')
const NODE_22 = nodeBinary('22')

const NODE_VERSIONS = ['20', '22', '24', '26']
const FRAMEWORKS = [
  { name: 'node:http', server: 'http', versions: [] },
  { name: 'Express', server: 'express', versions: ['express'] },
  { name: 'Fastify', server: 'fastify', versions: ['fastify'] },
  { name: 'Hono', server: 'hono', versions: ['hono', '@hono/node-server'] },
]

const MEMORY = ['adapter-cases', 'store-cases/memory'] as const
const STORES = [...MEMORY, 'store-cases/sqlite'] as const
const ADAPTER = ['adapter-cases'] as const

function nodeBinary(version: string): string {
  return join(HERE, `node_modules/node-${version}/bin/node`)
}

/** Each framework on a runtime's API of Node; the stores once in each runtime. */
function onNodeApi(
  runtime: string,
  version: string,
  program: readonly [string, ...string[]],
  stores: readonly Inside[],
) {
  return FRAMEWORKS.map(({ name, server, versions }, index): Lane => {
    const command = [...program, join(BUILT, `node/${server}.mjs`)] as Lane['command']
    return {
      name: `${runtime}, ${name}`,
      versions: [version, ...versions],
      command,
      inside: index === 0 ? stores : ADAPTER,
    }
  })
}

function workerd(
  name: string,
  worker: string,
  versions: readonly string[],
  flags: readonly string[],
  traits: Traits = {},
): Lane {
  const command = [
    NODE_22,
    join(BUILT, 'workers/workerd-host.mjs'),
    join(BUILT, `workers/${worker}.mjs`),
    ...flags,
  ] as const
  return { name: `workerd, ${name}`, versions: ['miniflare', ...versions], command, inside: MEMORY, traits }
}

const COMPAT = ['nodejs_compat']

/** Every runtime, with every framework that it has. */
export const runtimeLanes: readonly Lane[] = [
  ...NODE_VERSIONS.flatMap((version) =>
    onNodeApi(
      `Node ${version}`,
      `node-${version}`,
      [nodeBinary(version)],
      version === '20' ? MEMORY : STORES,
    ),
  ),
  {
    name: 'Bun, Bun.serve',
    versions: ['@oven/bun-linux-x64'],
    command: [BUN, join(BUILT, 'bun/fetch.mjs')],
    inside: STORES,
  },
  {
    name: 'Bun, Hono',
    versions: ['@oven/bun-linux-x64', 'hono'],
    command: [BUN, join(BUILT, 'bun/hono.mjs')],
    inside: ADAPTER,
  },
  {
    name: 'Bun, Elysia',
    versions: ['@oven/bun-linux-x64', 'elysia'],
    command: [BUN, join(BUILT, 'bun/elysia.mjs')],
    inside: ADAPTER,
  },
  ...onNodeApi('Bun as Node', '@oven/bun-linux-x64', [BUN], ADAPTER),
  {
    name: 'Deno, Deno.serve',
    versions: ['@deno/linux-x64-glibc'],
    command: [DENO, 'run', '-A', '--cached-only', join(BUILT, 'deno/fetch.mjs')],
    inside: STORES,
  },
  {
    name: 'Deno, Hono',
    versions: ['@deno/linux-x64-glibc', 'hono'],
    command: [DENO, 'run', '-A', '--cached-only', join(BUILT, 'deno/hono.mjs')],
    inside: ADAPTER,
  },
  ...onNodeApi('Deno as Node', '@deno/linux-x64-glibc', [DENO, 'run', '-A', '--cached-only'], ADAPTER),
  workerd('fetch', 'fetch', [], []),
  workerd('fetch, nodejs_compat', 'fetch', [], COMPAT),
  workerd('fetch without its context', 'fetch-without-context', [], [], { stopsWithAnswer: true }),
  workerd('Hono', 'hono', ['hono'], []),
  workerd('Hono, nodejs_compat', 'hono', ['hono'], COMPAT),
  {
    name: 'edge-runtime',
    versions: ['edge-runtime'],
    command: [NODE_22, join(BUILT, 'workers/edge-host.mjs'), join(BUILT, 'workers/edge.js')],
    inside: MEMORY,
  },
]

/** The program of a lane, if it could not be installed on this machine. */
export function missing({ command: [program] }: Lane): string | undefined {
  return existsSync(program) ? undefined : program
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
  return titles[name] ?? name.replace(/^node-\d+$/, 'Node')
}

function versionOf(name: string): string {
  const { version } = JSON.parse(readFileSync(join(HERE, `node_modules/${name}/package.json`), 'utf8'))
  return version
}
