import { join } from 'node:path'
import { BUILT } from './folders.js'
import type { Inside, Lane } from './lane.js'
import { BUN, DENO, nodeOf } from './programs.js'

const NODE_VERSIONS = ['20', '22', '24', '26']
const FRAMEWORKS = [
  { name: 'node:http', server: 'http', versions: [] },
  { name: 'Express', server: 'express', versions: ['express'] },
  { name: 'Fastify', server: 'fastify', versions: ['fastify'] },
  { name: 'Hono', server: 'hono', versions: ['hono', '@hono/node-server'] },
]

const MEMORY = ['adapter-cases', 'store-cases/memory'] as const
const STORES = [...MEMORY, 'store-cases/sqlite'] as const
const EDGE = ['d1', 'durable-object']
const ADAPTER = ['adapter-cases'] as const

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

interface Options extends Pick<Lane, 'traits' | 'needs' | 'measured'> {
  /** Clients that connect to a server. */
  readonly clients?: readonly string[]
}

function workerd(
  name: string,
  worker: string,
  versions: readonly string[],
  flags: readonly string[],
  { traits = {}, clients = [], ...rest }: Options = {},
): Lane {
  const command = [
    nodeOf('22'),
    join(BUILT, 'workers/workerd-host.mjs'),
    join(BUILT, `workers/${worker}.mjs`),
    ...flags,
  ] as const
  return {
    name: `workerd, ${name}`,
    versions: ['miniflare', ...versions],
    command,
    inside: [...MEMORY, ...casesOf(EDGE), ...casesOf(clients)],
    backends: [...EDGE, ...clients, ...inboxes(clients)],
    traits,
    ...rest,
  }
}

/** Clients that connect to a server, inside workerd. */
const CLIENTS = ['upstash', 'pg', 'postgres.js', 'hyperdrive', 'neon']
const CLIENT_PACKAGES = ['@upstash/redis', 'pg', 'postgres', '@neondatabase/serverless']

const COMPAT = ['nodejs_compat']

function casesOf(backends: readonly string[]): `store-cases/${string}`[] {
  return backends.map((name) => `store-cases/${name}` as const)
}

/** Redis has none. */
function inboxes(backends: readonly string[]): string[] {
  return backends.filter((name) => name !== 'upstash').map((name) => `${name}-inbox`)
}

const POOLERS = ['pgbouncer', 'pgbouncer-postgres.js', 'neon']

/** Every runtime, with every framework that it has. */
export const runtimeLanes: readonly Lane[] = [
  ...NODE_VERSIONS.flatMap((version) =>
    onNodeApi(`Node ${version}`, `node-${version}`, [nodeOf(version)], version === '20' ? MEMORY : STORES),
  ),
  {
    name: 'Node 22, poolers of Postgres',
    versions: ['node-22', 'pg', 'postgres', '@neondatabase/serverless'],
    command: [nodeOf('22'), join(BUILT, 'node/http.mjs')],
    inside: casesOf(POOLERS),
    needs: ['redis-server', 'pgbouncer'],
    backends: [...POOLERS, ...inboxes(POOLERS)],
  },
  {
    name: 'Bun, Bun.serve',
    versions: ['@oven/bun-linux-x64'],
    command: [BUN, join(BUILT, 'bun/fetch.mjs')],
    inside: [...STORES, ...casesOf(['bun-sql', 'bun-redis'])],
    needs: ['redis-server'],
    backends: ['bun-sql', 'bun-sql-inbox', 'bun-redis'],
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
  workerd('fetch', 'fetch', [], [], { measured: EDGE }),
  workerd('fetch, nodejs_compat', 'fetch', [], COMPAT),
  workerd('fetch without its context', 'fetch-without-context', [], [], {
    traits: { stopsWithAnswer: true },
  }),
  workerd('fetch, clients of each request', 'fetch-clients', CLIENT_PACKAGES, COMPAT, {
    clients: CLIENTS,
    needs: ['redis-server'],
  }),
  workerd('Hono', 'hono', ['hono'], []),
  workerd('Hono, nodejs_compat', 'hono', ['hono'], COMPAT),
  {
    name: 'edge-runtime',
    versions: ['edge-runtime'],
    command: [nodeOf('22'), join(BUILT, 'workers/edge-host.mjs'), join(BUILT, 'workers/edge.js')],
    inside: MEMORY,
  },
]
