import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { type BuildOptions, build } from 'esbuild'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Bundles code for a Worker, minified, as a platform's own tool does. Paths in it start at the root of the repository. */
export async function workerBundle(code: string, options: BuildOptions = {}): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: ROOT, loader: 'ts' },
    // By its package name, as in an app.
    nodePaths: [ROOT],
    absWorkingDir: ROOT,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
    legalComments: 'none',
    ...options,
  })
  return outputFiles?.[0]?.text ?? ''
}

/** The size after the best gzip compression. */
export function gzipped(text: string): number {
  return gzipSync(text, { level: 9 }).length
}
