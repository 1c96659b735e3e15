import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Plugin } from 'esbuild'

/**
 * Lists the packages in a bundle and their licenses, which require to be included.
 *
 * @param inlined the folders of packages that are in it as text
 * @throws Error when a library has no license in its folder
 */
export function thirdPartyLicenses(file: string, inlined: readonly string[] = []): Plugin {
  return {
    name: 'third-party-licenses',
    setup(build) {
      build.initialOptions.metafile = true
      build.onEnd(({ metafile }) => {
        const folders = packagesOf([
          ...Object.keys(metafile?.inputs ?? {}),
          ...inlined.map((folder) => `${folder}/package.json`),
        ])
        if (folders.length === 0) return
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, licensesOf(folders))
      })
    },
  }
}

/** The folders of the packages that these files belong to, sorted by name. For a nested package, the inner one. */
function packagesOf(files: readonly string[]): string[] {
  const folders = files.map((file) => /^(.*node_modules\/)(@[^/]+\/)?[^/]+/.exec(file)?.[0])
  return [...new Set(folders)].filter((folder) => folder !== undefined).sort()
}

function licensesOf(folders: readonly string[]): string {
  const texts = folders.map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    return [`${name} ${version} (${license})`, '', licenseText(folder).trim()].join('\n')
  })
  const head = 'What tix-webhooks/sandbox and the command line are made with, beside our own code.'
  return `${[head, ...texts].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}

function licenseText(folder: string): string {
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name))
  if (file !== undefined) return readFileSync(join(folder, file), 'utf8')
  const readme = join(folder, 'README.md')
  const section = existsSync(readme) ? readFileSync(readme, 'utf8').split(/^#+ licen[cs]e$/im)[1] : undefined
  if (section !== undefined) return section
  throw new Error(`${folder} has no license in it: look for it, and say here where it is.`)
}
