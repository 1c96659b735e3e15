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
import packageJson from '../../package.json' with { type: 'json' }
import { ROOT } from './root.js'
import { modulesIn } from './source.js'

const exec = promisify(execFile)

/** Packs the package as it would be published. */
export function pack(): { tarball: string; temporary: string } {
  build()
  const temporary = mkdtempSync(join(tmpdir(), 'tix-webhooks-'))
  const [tarball = ''] = packAll(temporary)
  return { tarball, temporary }
}

/** Builds the package, unless the build is newer than its sources. */
export function build(): void {
  if (isStale()) execFileSync(process.execPath, [bin('tsup'), '--silent'], { cwd: ROOT })
  writeFileSync(`${ROOT}llms.txt`, llms())
}

/** Whether there is no build, or one of older sources, with which a test would pass or fail wrongly. */
function isStale(): boolean {
  const built = `${ROOT}dist/index.d.cts`
  if (!existsSync(built)) return true
  const sources = ['src', 'adapters', 'testing'].flatMap((folder) =>
    modulesIn(folder).map((name) => `${ROOT}${folder}/${name}.ts`),
  )
  return [`${ROOT}tsup.config.ts`, ...sources].some(
    (source) => statSync(source).mtimeMs > statSync(built).mtimeMs,
  )
}

/**
 * Makes a project with the packed package in it. Nothing comes from a registry: other dependencies are linked.
 *
 * @param linked our own development dependencies, by their names in the project
 * @returns its folder
 */
export function install(tarball: string, name: string, linked: Readonly<Record<string, string>>): string {
  const project = join(dirname(tarball), name)
  const installed = join(project, 'node_modules', packageJson.name)
  mkdirSync(installed, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'])
  cpSync(`${ROOT}test/support/consumer`, project, { recursive: true })
  for (const [as, dependency] of Object.entries(linked)) {
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
