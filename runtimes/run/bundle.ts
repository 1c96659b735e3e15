import { build } from 'esbuild'
import { BUILT, HERE } from './folders.js'

/** Compiles the servers to JavaScript. Those of Workers are one file each; the others import what is installed. */
export async function bundleServers(): Promise<void> {
  const shared = {
    absWorkingDir: HERE,
    bundle: true,
    target: 'es2022',
    outdir: BUILT,
    outbase: 'servers',
  } as const
  const hosts = ['servers/workers/workerd-host.ts', 'servers/workers/edge-host.ts']
  const outExtension = { '.js': '.mjs' }
  await Promise.all([
    build({
      ...shared,
      entryPoints: ['servers/node/*.ts', 'servers/bun/*.ts', 'servers/deno/*.ts', ...hosts],
      format: 'esm',
      platform: 'node',
      packages: 'external',
      // Only one of the two is in each runtime.
      external: ['bun:sqlite', 'node:sqlite'],
      outExtension,
    }),
    build({
      ...shared,
      entryPoints: ['fetch', 'fetch-without-context', 'hono'].map((name) => `servers/workers/${name}.ts`),
      format: 'esm',
      platform: 'browser',
      conditions: ['workerd', 'worker'],
      outExtension,
    }),
    build({
      ...shared,
      entryPoints: ['servers/workers/edge.ts'],
      format: 'iife',
      platform: 'browser',
      conditions: ['edge-light', 'worker'],
    }),
  ])
}
