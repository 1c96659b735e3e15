// Packs every package as it is published: `npm run pack` writes the tarballs to packed/. They are made from copies, so the working
// tree stays as it is, also if this is killed.
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Manifest, manifestsIn, NO_REPOSITORY } from './manifests.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Fields that only the repository needs. `scripts` could also run on the machine of a user. */
const NOT_PUBLISHED = ['devDependencies', 'overrides', 'scripts', 'workspaces'] as const

/**
 * Packs what is built: the build is not part of it.
 *
 * @param to the folder of the tarballs, which is created if it is missing
 * @param root the folder of the first package, in which the others are
 * @returns the paths of the tarballs, the first package's first
 */
export function packAll(to: string, root = ROOT): string[] {
  const manifests = manifestsIn(root)
  const repository = repositoryOf(manifests)
  const staging = mkdtempSync(join(tmpdir(), 'tix-webhooks-pack-'))
  try {
    const copies = manifests.map(({ folder, manifest }) => {
      const copy = join(staging, manifest.name)
      for (const { path } of listed(join(root, folder))) cpSync(join(root, folder, path), join(copy, path))
      checkWhole(manifest, copy)
      if (!existsSync(join(copy, 'LICENSE'))) cpSync(join(root, 'LICENSE'), join(copy, 'LICENSE'))
      const published = publishedManifest(manifest, folder, repository)
      writeFileSync(join(copy, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
      if (repository !== undefined) linkPages(copy, { repository, folder, version: manifest.version })
      return copy
    })
    mkdirSync(to, { recursive: true })
    npm(['pack', '--silent', '--pack-destination', to, ...copies], staging)
    return manifests.map(({ manifest }) => join(to, `${manifest.name}-${manifest.version}.tgz`))
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

/**
 * The address of the repository, from the only place that has it: `repository` of the first package.json.
 *
 * @returns undefined before the first publication
 */
function repositoryOf([first]: ReturnType<typeof manifestsIn>): string | undefined {
  const repository = first?.manifest.repository
  if (repository === undefined) return undefined
  if (typeof repository !== 'string' || !/^https:\/\/[^/]+\/[^/]+\/[^/]+(?<!\.git)$/.test(repository)) {
    throw new Error(
      'repository in package.json must be the address of the repository as text, as a browser opens it: "https://HOST/OWNER/NAME", without .git and without a slash at its end.',
    )
  }
  return repository
}

/** A package without a file could be published, and its version never be used again. */
function checkWhole({ name, main, bin = {}, files = [] }: Manifest, copy: string): void {
  const named = files.filter((file) => !/^!|\*/.test(file))
  for (const file of [main, ...Object.values(bin), ...named]) {
    if (file !== undefined && !existsSync(join(copy, file))) {
      throw new Error(`${file} of ${name} would not be packed: run npm run build first.`)
    }
  }
}

/** The package.json of the tarball. */
function publishedManifest(manifest: Manifest, folder: string, repository: string | undefined): object {
  const entries = Object.entries(manifest).filter(([field]) => !NOT_PUBLISHED.some((one) => one === field))
  if (repository === undefined) return Object.fromEntries(entries)
  const isFirst = folder === '.'
  return {
    ...Object.fromEntries(entries),
    repository: {
      type: 'git',
      url: `git+${repository}.git`,
      ...(isFirst ? {} : { directory: folder }),
    },
    homepage: isFirst ? `${repository}#readme` : `${repository}/tree/main/${folder}#readme`,
    bugs: { url: `${repository}/issues` },
  }
}

interface Place {
  readonly repository: string
  /** That of the package or the page, from the root of the repository. */
  readonly folder: string
  /** Its tag is in the links, so that the page of an old version keeps to the files of that version. */
  readonly version: string
}

/** Makes the links absolute that leave a package, in all of its pages; in the README all, since the registry shows it alone. */
function linkPages(copy: string, { folder, ...place }: Place): void {
  const files = readdirSync(copy, { recursive: true, encoding: 'utf8' }).map((file) =>
    file.replaceAll('\\', '/'),
  )
  for (const page of files.filter((file) => file.endsWith('.md'))) {
    const beside = posix.dirname(page)
    const isBeside = (path: string): boolean => page !== 'README.md' && existsSync(join(copy, beside, path))
    const file = join(copy, page)
    const at = { ...place, folder: posix.join(folder, beside) }
    writeFileSync(file, absoluteLinks(readFileSync(file, 'utf8'), at, isBeside))
  }
}

/**
 * Makes the links of a page absolute that lead to a file which is not beside it. Links to its own sections stay.
 *
 * @param isBeside whether the reader of the page has the file
 */
function absoluteLinks(
  page: string,
  { repository, folder, version }: Place,
  isBeside: (path: string) => boolean,
): string {
  const absolute = (target: string): string => {
    if (/^(\w+:|\/\/|#)/.test(target)) return target
    const [path = '', ...rest] = target.split(/(?=[#?])/)
    if (isBeside(path)) return target
    const kind = /\.(gif|jpe?g|png|svg|webp)$/i.test(path) ? 'raw' : 'blob'
    return `${repository}/${kind}/v${version}/${posix.join(folder, path)}${rest.join('')}`
  }
  const parts = page.split(/(^```[\s\S]*?^```$)/m)
  const withLinks = parts.map((part, index) => {
    if (index % 2 === 1) return part
    return part
      .replaceAll(/(\]\()([^)\s]+)/g, (_, start, target) => start + absolute(target))
      .replaceAll(/^( {0,3}\[[^\]]+\]: +)(\S+)/gm, (_, start, target) => start + absolute(target))
      .replaceAll(/(\b(?:href|src|srcset)=")([^"]+)/g, (_, start, target) => start + absolute(target))
  })
  return withLinks.join('')
}

/** The files that npm would pack from a folder. */
function listed(folder: string): { path: string }[] {
  const [{ files }] = JSON.parse(npm(['pack', '--dry-run', '--json', '.'], folder))
  return files
}

/** Without scripts: they would build again, and print into the list. */
function npm(args: readonly string[], cwd: string): string {
  return execFileSync('npm', [...args, '--ignore-scripts'], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const packed = join(ROOT, 'packed')
  // A tarball of another version must not be published with these.
  rmSync(packed, { recursive: true, force: true })
  for (const tarball of packAll(packed)) console.info(tarball)
  if (repositoryOf(manifestsIn(ROOT)) === undefined)
    console.warn(`These cannot be published: ${NO_REPOSITORY}`)
}
