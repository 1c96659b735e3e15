import { cpSync, mkdirSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join } from 'node:path'
import { type BuildOptions, build } from 'esbuild'
import { BUILT, HERE } from './folders.js'

const SHARED = { absWorkingDir: HERE, bundle: true, target: 'es2022', format: 'esm', outdir: BUILT } as const
const EXAMPLES = join(HERE, 'node_modules/tix-webhooks/examples/frameworks')

/** Installed packages are imported, not bundled. */
const ON_NODE: BuildOptions = {
  ...SHARED,
  platform: 'node',
  packages: 'external',
  outExtension: { '.js': '.mjs' },
}

/** For Workers: one file each. */
const FOR_WORKERS: BuildOptions = { ...SHARED, outbase: 'servers', platform: 'browser' }

/** As Node's own modules are named in Workers. */
const NODE_MODULES = Object.fromEntries(builtinModules.map((name) => [name, `node:${name}`]))

/** Compiles the servers, the app that hosts import as `#lane/…`, and the recipes; copies those that belong into a host. */
export async function bundleServers(): Promise<void> {
  const folders = ['node', 'bun', 'deno', 'hosts'].map((name) => `servers/${name}/*.ts`)
  const workerHosts = ['servers/workers/workerd-host.ts', 'servers/workers/edge-host.ts']
  const workers = ['fetch', 'fetch-without-context', 'hono'].map((name) => `servers/workers/${name}.ts`)
  await Promise.all([
    build({ ...ON_NODE, outbase: 'servers', entryPoints: [...folders, ...workerHosts] }),
    build({
      ...ON_NODE,
      entryPoints: { 'lane/fetch-app': 'app/fetch-app.ts', 'lane/node-app': 'servers/node/http-app.ts' },
    }),
    build({
      ...FOR_WORKERS,
      entryPoints: workers,
      conditions: ['workerd', 'worker'],
      outExtension: { '.js': '.mjs' },
    }),
    build({
      ...FOR_WORKERS,
      entryPoints: ['servers/workers/fetch-clients.ts'],
      conditions: ['workerd', 'worker'],
      outExtension: { '.js': '.mjs' },
      alias: NODE_MODULES,
      external: ['node:*', 'cloudflare:*'],
      // The client of Postgres is CommonJS.
      banner: { js: "import { createRequire } from 'node:module'; const require = createRequire('/');" },
    }),
    build({
      ...FOR_WORKERS,
      entryPoints: ['servers/workers/edge.ts'],
      format: 'iife',
      conditions: ['edge-light', 'worker'],
    }),
    ...['nest-express', 'nest-fastify', 'h3', 'elysia', 'bun', 'deno'].map(bundleRecipe),
    ...['nest-express', 'nest-fastify'].map(bundleCommonJs),
  ])
  copyRecipe('next-route', 'next/app/recipe/route.ts')
  copyRecipe('next-pages', 'next/pages/api/recipe.ts')
  copyRecipe('sveltekit-server', 'sveltekit/src/routes/recipe/+server.ts')
  copyRecipe('nitro-route', 'nitro/routes/recipe.ts')
}

function bundleRecipe(name: string): Promise<unknown> {
  return build({
    ...ON_NODE,
    entryPoints: { [`recipes/${name}`]: join(EXAMPLES, `${name}.ts`) },
    tsconfig: 'tsconfig.json',
    // Both versions of it are installed; this recipe is for the second.
    ...(name === 'h3' && { alias: { h3: 'h3-2' } }),
  })
}

/** As a project of `nest new`, which is CommonJS. */
function bundleCommonJs(name: string): Promise<unknown> {
  return build({
    ...ON_NODE,
    format: 'cjs',
    outExtension: { '.js': '.cjs' },
    entryPoints: { [`recipes/${name}`]: join(EXAMPLES, `${name}.ts`) },
    tsconfig: 'tsconfig.json',
  })
}

function copyRecipe(name: string, path: string): void {
  const target = join(HERE, 'hosts', path)
  mkdirSync(dirname(target), { recursive: true })
  cpSync(join(EXAMPLES, `${name}.ts`), target)
}
