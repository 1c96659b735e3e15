import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type BuildOptions, build } from 'esbuild'
import { afterAll, beforeAll } from 'vitest'
import { ROOT } from './root.js'

/**
 * Bundles programs, because a process starts from that in a third of the time of a TypeScript loader. Their files are
 * `<name>.mjs` in the folder.
 */
export async function bundle(
  outdir: string,
  entryPoints: NonNullable<BuildOptions['entryPoints']>,
  more: BuildOptions = {},
): Promise<void> {
  await build({
    entryPoints,
    outdir,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    outExtension: { '.js': '.mjs' },
    logLevel: 'error',
    ...more,
  })
}

/** Bundles a program for the tests of a file. Returns its path, for hooks and tests. */
export function useBundle(program: string): () => string {
  let folder = ''
  beforeAll(async () => {
    // Inside the tree, so that packages are found.
    folder = mkdtempSync(join(ROOT, 'test', '.snippets-'))
    await bundle(folder, { program: join(ROOT, program) })
  })
  afterAll(() => rmSync(folder, { recursive: true }))
  return () => join(folder, 'program.mjs')
}

/** Loaded before an app: prints its port. */
export const PRINTS_PORT = `
  import { Server } from 'node:net'
  const { listen } = Server.prototype
  Server.prototype.listen = function (...args) {
    this.once('listening', () => console.log('on port ' + this.address().port))
    return listen.apply(this, args)
  }`

/**
 * Loaded before an app: a pool closes idle connections after ten seconds, and its process would then end without `pool.end()` too: here
 * it keeps them.
 */
export const KEEPS_CONNECTIONS = `
  import { Pool } from 'pg'
  const { connect } = Pool.prototype
  Pool.prototype.connect = function (...args) {
    this.options.idleTimeoutMillis = 0
    return connect.apply(this, args)
  }`
