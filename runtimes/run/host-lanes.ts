import { join } from 'node:path'
import { runParsedInNest, runRawBodyInNest } from '../cases/parsed.js'
import { BUILT, HERE } from './folders.js'
import type { Lane } from './lane.js'
import { BUN, DENO, nodeOf } from './programs.js'

const NODE = nodeOf('22')

interface Built {
  readonly folder: string
  readonly build: readonly string[]
  readonly start: readonly string[]
}

/** Whole projects in hosts/, which are built by their own tool. */
const BUILT_HOSTS = {
  next: { folder: 'next', build: ['next/dist/bin/next', 'build'], start: ['next/dist/bin/next', 'start'] },
  sveltekit: {
    folder: 'sveltekit',
    build: ['vite/bin/vite.js', 'build'],
    start: ['../hosts/sveltekit/build'],
  },
  nitro: {
    folder: 'nitro',
    build: ['nitropack/dist/cli/index.mjs', 'build'],
    start: ['../hosts/nitro/.output/server/index.mjs'],
  },
} satisfies Record<string, Built>

function built(name: string, { folder, build, start }: Built, rest: Partial<Lane>): Lane {
  const run = ([script = '', ...args]: readonly string[]) =>
    [NODE, join(HERE, 'node_modules', script), ...args] as const
  const cwd = join(HERE, 'hosts', folder)
  return {
    name,
    versions: [],
    command: run(start),
    build: run(build),
    cwd,
    isToldPort: true,
    inside: [],
    ...rest,
  }
}

/** A server of one file. */
function own(name: string, server: string, versions: readonly string[], rest: Partial<Lane> = {}): Lane {
  const command = [NODE, join(BUILT, `hosts/${server}.mjs`)] as const
  return { name, versions, command, isToldPort: true, inside: [], ...rest }
}

/** A file of examples/frameworks that is a whole server, started as its first lines say. */
function recipe(name: string, versions: readonly string[], command: Lane['command']): Lane {
  return { name, versions, command, isToldPort: true, isRecipeOnly: true, recipe: '/hooks', inside: [] }
}

function recipeFile(name: string, ending = 'mjs'): string {
  return join(BUILT, `recipes/${name}.${ending}`)
}

const NEST_EXPRESS = ['@nestjs/core', '@nestjs/platform-express', 'express']
const NEST_FASTIFY = ['@nestjs/core', '@nestjs/platform-fastify']

/** Hosts that bring a server or a build of their own. */
export const hostLanes: readonly Lane[] = [
  built('Next, a node route', BUILT_HOSTS.next, {
    versions: ['next'],
    mountedAt: '/node',
    recipe: '/recipe',
  }),
  built('Next, an edge route', BUILT_HOSTS.next, {
    versions: ['next'],
    mountedAt: '/edge',
    traits: { waitsForBody: true },
  }),
  built('Next, the pages router', BUILT_HOSTS.next, {
    versions: ['next'],
    isRecipeOnly: true,
    recipe: '/api/recipe',
  }),
  built('SvelteKit', BUILT_HOSTS.sveltekit, {
    versions: ['@sveltejs/kit', '@sveltejs/adapter-node'],
    traits: { refusesForms: true },
    recipe: '/recipe',
  }),
  built('Nitro, as node:http', BUILT_HOSTS.nitro, {
    versions: ['nitropack', 'h3'],
    mountedAt: '/node',
    recipe: '/recipe',
  }),
  built('Nitro, by toWebRequest', BUILT_HOSTS.nitro, { versions: ['nitropack', 'h3'], mountedAt: '/web' }),
  own('h3', 'h3', ['h3-2']),
  own('NestJS on Express', 'nest-express', NEST_EXPRESS),
  own('NestJS on Fastify', 'nest-fastify', NEST_FASTIFY),
  nestController('a controller: the report says what to do', [], runParsedInNest),
  nestController('a controller with rawBody', ['rawBody'], runRawBodyInNest),
  lambda('1'),
  lambda('2'),
]

/** A route of a controller, which comes after Nest's body parsers. */
function nestController(name: string, args: readonly string[], check: NonNullable<Lane['check']>): Lane {
  const lane = own(`NestJS on Express, ${name}`, 'nest-controller', NEST_EXPRESS)
  return { ...lane, command: [...lane.command, ...args], isRecipeOnly: true, recipe: '/hooks', check }
}

/** The platform calls the function with the whole body. */
function lambda(version: string): Lane {
  const command = [NODE, join(BUILT, 'hosts/lambda.mjs'), version] as const
  const traits = { readsFirst: true, waitsForBody: true }
  return { name: `Lambda, events of version ${version}`, versions: ['node-22'], command, traits, inside: [] }
}

/** The recipes of docs/frameworks.md, as they stand in the package. */
export const recipeLanes: readonly Lane[] = [
  recipe('nest-express.ts', NEST_EXPRESS, [NODE, recipeFile('nest-express')]),
  recipe('nest-fastify.ts', NEST_FASTIFY, [NODE, recipeFile('nest-fastify')]),
  recipe('nest-express.ts, in CommonJS', NEST_EXPRESS, [NODE, recipeFile('nest-express', 'cjs')]),
  recipe('nest-fastify.ts, in CommonJS', NEST_FASTIFY, [NODE, recipeFile('nest-fastify', 'cjs')]),
  recipe('h3.ts', ['h3-2'], [NODE, recipeFile('h3')]),
  recipe('elysia.ts', ['elysia', '@oven/bun-linux-x64'], [BUN, recipeFile('elysia')]),
  recipe('bun.ts', ['@oven/bun-linux-x64'], [BUN, recipeFile('bun')]),
  recipe(
    'deno.ts',
    ['@deno/linux-x64-glibc'],
    [DENO, 'serve', '--allow-env', '--cached-only', '--port', '$PORT', recipeFile('deno')],
  ),
]
