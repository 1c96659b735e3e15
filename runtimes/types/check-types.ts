import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { HERE } from '../run/folders.js'

const exec = promisify(execFile)

const VERSIONS = ['5.0', '5.4', '5.9', '6.0', '7.0']
const MODES = {
  node16: ['--module', 'node16'],
  nodenext: ['--module', 'nodenext'],
  bundler: ['--module', 'esnext', '--moduleResolution', 'bundler'],
} as const

/** `skipLibCheck` is off, so that our declarations themselves are checked. */
const STRICT = [
  '--ignoreConfig',
  '--noEmit',
  '--strict',
  '--exactOptionalPropertyTypes',
  '--target',
  'es2022',
]
const SOURCES = {
  'everything.ts': ['--types', 'node', '--esModuleInterop', '--lib', 'es2022,dom,dom.iterable'],
  'worker.ts': ['--types', '@cloudflare/workers-types', '--lib', 'es2022'],
  'bare.ts': ['--typeRoots', 'types', '--lib', 'es2022'],
} as const

/** How a compiler did. */
export interface TypeResult {
  readonly name: string
  readonly errors: readonly string[]
}

/** Compiles every subpath with each compiler in each module mode. */
export async function checkTypes(): Promise<TypeResult[]> {
  const all = VERSIONS.flatMap((version) =>
    Object.entries(MODES).flatMap(([mode, flags]) =>
      Object.entries(SOURCES).map(([source, own]) => ({ version, mode, source, flags: [...flags, ...own] })),
    ),
  )
  const results: TypeResult[] = []
  const work = async (): Promise<void> => {
    for (let one = all.shift(); one !== undefined; one = all.shift()) {
      const { version, mode, source, flags } = one
      const errors = await compile(version, [...flags, join('types', source)])
      results.push({ name: `TypeScript ${version}, ${mode}, ${source}`, errors })
    }
  }
  await Promise.all([work(), work()])
  return results.sort((a, b) => a.name.localeCompare(b.name))
}

/** The errors in our declarations and in the code that uses them: those inside other packages are not ours. */
async function compile(version: string, args: readonly string[]): Promise<string[]> {
  const strict = Number(version) >= 6 ? STRICT : STRICT.slice(1)
  const tsc = join(HERE, `node_modules/typescript-${version}/bin/tsc`)
  try {
    await exec(process.execPath, [tsc, ...strict, ...args], { cwd: HERE, maxBuffer: 64 * 1024 * 1024 })
    return []
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    const lines = stdout.split('\n').filter((line) => /^\S.*error TS/.test(line))
    if (lines.length === 0) return [`${stdout}${stderr}`]
    return lines.filter((line) => !/^node_modules\/(?!tix-webhooks\/)/.test(line))
  }
}
