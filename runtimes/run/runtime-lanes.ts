import { join } from 'node:path'
import type { Traits } from '../cases/case.js'
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

function workerd(
  name: string,
  worker: string,
  versions: readonly string[],
  flags: readonly string[],
  traits: Traits = {},
): Lane {
  const command = [
    nodeOf('22'),
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
    onNodeApi(`Node ${version}`, `node-${version}`, [nodeOf(version)], version === '20' ? MEMORY : STORES),
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
    command: [nodeOf('22'), join(BUILT, 'workers/edge-host.mjs'), join(BUILT, 'workers/edge.js')],
    inside: MEMORY,
  },
]
