import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { bundledPage } from '../../sandbox/build/page.js'
import { ROOT } from '../support/root.js'
import { importsOf } from '../support/source.js'

/** The built entries that contain the sandbox or the command line. */
const WITH_SANDBOX = ['sandbox']

const names = Object.keys(packageJson.exports)
  .filter((subpath) => subpath !== './package.json')
  .map((subpath) => (subpath === '.' ? 'index' : subpath.slice('./'.length)))

/** A built file, and all built files that it loads. */
function loadedWith(file: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(file)) return loaded
  loaded.add(file)
  for (const { specifier } of importsOf(file)) {
    if (specifier.startsWith('.')) loadedWith(join(dirname(file), specifier), loaded)
  }
  return loaded
}

/** The source files with code in the files that an entry loads. */
function sourcesOf(entry: string): string[] {
  return [...loadedWith(`dist/${entry}.js`)].flatMap((file): string[] => {
    return JSON.parse(readFileSync(`${ROOT}${file}.map`, 'utf8')).sources
  })
}

describe('the build', () => {
  test.each(names.filter((name) => !WITH_SANDBOX.includes(name)))(
    'of %s loads no byte of the sandbox, of the command line, or of their libraries',
    (name) => {
      const sources = sourcesOf(name)
      expect(sources).not.toEqual([])
      expect(sources.filter((source) => /node_modules|\/(sandbox|cli)\//.test(source))).toEqual([])
    },
  )

  test.each(['sandbox', 'cli'])(
    'of the %s brings its libraries along, so that nothing has to be installed',
    (name) => {
      const specifiers = [...loadedWith(`dist/${name}.js`)].flatMap((file) => importsOf(file))
      const outside = specifiers.filter(({ specifier }) => !/^(\.|node:)/.test(specifier))
      expect(outside.filter(({ specifier }) => !builtinModules.includes(specifier))).toEqual([])
    },
  )

  test('names whose code is in the sandbox and the command line, with their licenses', async () => {
    const { metafile } = await build({
      entryPoints: ['sandbox/index.ts', 'sandbox/cli/bin.ts'],
      absWorkingDir: ROOT,
      bundle: true,
      format: 'esm',
      platform: 'node',
      outdir: 'unwritten',
      write: false,
      metafile: true,
      plugins: [bundledPage()],
    })
    const bundled = Object.keys(metafile.inputs).flatMap(
      (file) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? [],
    )
    // The page comes as finished text.
    const libraries = new Set([...bundled, 'preact'])
    expect([...libraries]).toEqual(expect.arrayContaining(['hono', 'zod', 'picocolors']))
    const sections = readFileSync(`${ROOT}dist/THIRD-PARTY-LICENSES.txt`, 'utf8').split(/\n-{80}\n/)
    for (const library of libraries) {
      const section = sections.find((one) => one.trim().startsWith(`${library} `))
      expect(section, library).toMatch(/permission|redistribution/i)
    }
  })
})
