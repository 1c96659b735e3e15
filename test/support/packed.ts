import { execFile, execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { llms } from '../../build/llms.js'
import { packAll } from '../../build/pack.js'
import receiverJson from '../../package.json' with { type: 'json' }
import sandboxJson from '../../sandbox/package.json' with { type: 'json' }
import { ROOT } from './root.js'
import { modulesIn } from './source.js'

const exec = promisify(execFile)

export interface Packed {
  readonly manifest: { readonly name: string; readonly dependencies?: object }
  readonly tarball: string
}

/** Packs both packages as they would be published. */
export function pack(): { receiver: Packed; sandbox: Packed; temporary: string } {
  build()
  const temporary = mkdtempSync(join(tmpdir(), 'tix-webhooks-'))
  const [receiver = '', sandbox = ''] = packAll(temporary)
  return {
    receiver: { manifest: receiverJson, tarball: receiver },
    sandbox: { manifest: sandboxJson, tarball: sandbox },
    temporary,
  }
}

/** The paths of the files in a tarball. */
export function filesIn({ tarball }: Packed): string[] {
  const listing = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' })
  return listing.split('\n').flatMap((line) => /^package\/(.*[^/])$/.exec(line)?.[1] ?? [])
}

/** Builds both packages, unless the build is newer than its sources. */
export function build(): void {
  for (const [folder, script, sources] of [
    [ROOT, 'build:receiver', ['src', 'adapters', 'stores', 'telemetry', 'testing']],
    [`${ROOT}sandbox/`, 'build', ['sandbox']],
  ] as const) {
    if (isStale(folder, sources)) execFileSync('npm', ['run', '--silent', script], { cwd: folder })
  }
  writeFileSync(`${ROOT}llms.txt`, llms())
}

/** Whether there is no build, or one of older sources, with which a test would pass or fail wrongly. */
function isStale(folder: string, sources: readonly string[]): boolean {
  const built = `${folder}dist/index.d.cts`
  if (!existsSync(built)) return true
  const files = sources.flatMap((source) => modulesIn(source).map((name) => `${ROOT}${source}/${name}.ts`))
  return [`${folder}tsup.config.ts`, ...files].some(
    (source) => !/\.test\.ts$/.test(source) && statSync(source).mtimeMs > statSync(built).mtimeMs,
  )
}

/**
 * Makes a project with packed packages in it. Nothing comes from a registry: their dependencies, and other ones, are linked.
 *
 * @param linked our own development dependencies, by their names in the project
 * @returns its folder
 */
export function install(
  packages: readonly [Packed, ...Packed[]],
  name: string,
  linked: Readonly<Record<string, string>> = {},
): string {
  const project = join(dirname(packages[0].tarball), name)
  mkdirSync(project, { recursive: true })
  for (const one of packages) {
    const installed = join(project, 'node_modules', one.manifest.name)
    mkdirSync(installed, { recursive: true })
    execFileSync('tar', ['-xzf', one.tarball, '-C', installed, '--strip-components=1'])
  }
  cpSync(`${ROOT}test/support/consumer`, project, { recursive: true })
  const needed = packages.flatMap((one) => Object.keys(one.manifest.dependencies ?? {}))
  const all = { ...Object.fromEntries(needed.map((dependency) => [dependency, dependency])), ...linked }
  for (const [as, dependency] of Object.entries(all)) {
    const link = join(project, 'node_modules', as)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(`${ROOT}node_modules/${dependency}`, link)
  }
  return project
}

/** The path of a development dependency's command. */
export function bin(name: string): string {
  return `${ROOT}node_modules/.bin/${name}`
}

/** Runs a script or a command line in Node; on failure, the error's message contains its output. */
export async function node(args: readonly string[], cwd: string): Promise<string> {
  try {
    return (await exec(process.execPath, args, { cwd })).stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    throw new Error(`node ${args.join(' ')}\n${stdout}\n${stderr}`, { cause: error })
  }
}

/** The paths of all files under a folder. */
export function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    statSync(join(folder, file)).isFile(),
  )
}
