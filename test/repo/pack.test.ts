import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { NO_REPOSITORY } from '../../build/manifests.js'
import { packAll } from '../../build/pack.js'
import packageJson from '../../package.json' with { type: 'json' }
import sandboxJson from '../../sandbox/package.json' with { type: 'json' }
import { filesUnder } from '../support/packed.js'
import { PACKED_PAGES } from '../support/pages.js'
import { ROOT } from '../support/root.js'

const REPOSITORY = 'https://git.example/owner/name'
const OF_REPOSITORY = { workspaces: ['sandbox'], overrides: { hono: '4.13.19' } }
const { version } = packageJson
const BUILT = [packageJson.main, ...Object.values(packageJson.bin)]

/** A copy of the repository without code, as it is once its address is known, and with a second package. */
let repository: string
/** The folder with the files of each tarball, by the name of its package. */
let unpacked: Readonly<Record<string, string>>
let changed: readonly string[]

beforeAll(() => {
  repository = mkdtempSync(join(tmpdir(), 'tix-webhooks-repository-'))
  for (const file of [...PACKED_PAGES, 'LICENSE']) cpSync(`${ROOT}${file}`, join(repository, file))
  write('package.json', JSON.stringify({ ...packageJson, ...OF_REPOSITORY, repository: REPOSITORY }))
  write(
    'sandbox/package.json',
    JSON.stringify({ name: 'second', version, files: ['docs'], scripts: { postinstall: 'exit 1' } }),
  )
  for (const file of [...BUILT, 'llms.txt', 'examples/app.ts']) write(file, '')
  write('sandbox/docs/rules.md', RULES)
  write('sandbox/README.md', SECOND_README)
  write('sandbox/secret.txt', 'not packed')
  const before = contents(repository)
  const tarballs = packAll(join(repository, '../', `${basename(repository)}-packed`), repository)
  const after = contents(repository)
  changed = [...after].filter(([file, text]) => before.get(file) !== text).map(([file]) => file)
  unpacked = Object.fromEntries(
    tarballs.map((tarball) => {
      const folder = tarball.replace(/\.tgz$/, '')
      mkdirSync(folder)
      execFileSync('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1'])
      return [basename(folder).replace(`-${version}`, ''), folder]
    }),
  )
})

afterAll(() => {
  const folders = [repository, ...Object.values(unpacked).map(dirname)]
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

const SECOND_README = `# Second

[up](../docs/testing.md#vitest), [beside](docs/rules.md), [here](#second), [\`outside\`](https://elsewhere.example/a.png)
[![a picture](docs/images/page.png)](../LICENSE "title") <img src="docs/images/small.svg">

\`\`\`ts
const untouched = table[0](row)
\`\`\`

[reference]: ./docs/rules.md
`

const RULES = '[here](../README.md), [there](../../docs/testing.md#vitest), ![a picture](images/page.png)'

test('the packages are packed in the order in which they are published, and the working tree stays as it is', () => {
  expect(Object.keys(unpacked)).toEqual(['tix-webhooks', 'second'])
  expect(changed).toEqual([])
})

test('a published package.json has the address, and nothing that only the repository needs', () => {
  const { devDependencies, overrides, scripts, workspaces, ...published } = {
    ...packageJson,
    ...OF_REPOSITORY,
  }
  expect(json('tix-webhooks')).toEqual({
    ...published,
    repository: { type: 'git', url: `git+${REPOSITORY}.git` },
    homepage: `${REPOSITORY}#readme`,
    bugs: { url: `${REPOSITORY}/issues` },
  })
  expect(json('second')).toEqual({
    name: 'second',
    version,
    files: ['docs'],
    repository: { type: 'git', url: `git+${REPOSITORY}.git`, directory: 'sandbox' },
    homepage: `${REPOSITORY}/tree/main/sandbox#readme`,
    bugs: { url: `${REPOSITORY}/issues` },
  })
})

test('links of the second README begin at its folder, of every form, and code is left alone', () => {
  const at = `${REPOSITORY}/blob/v${version}`
  const raw = `${REPOSITORY}/raw/v${version}`
  expect(read('second', 'README.md')).toBe(
    SECOND_README.replace('../docs/testing.md', `${at}/docs/testing.md`)
      .replace('](docs/rules.md', `](${at}/sandbox/docs/rules.md`)
      .replace('docs/images/page.png', `${raw}/sandbox/docs/images/page.png`)
      .replace('../LICENSE', `${at}/LICENSE`)
      .replace('docs/images/small.svg', `${raw}/sandbox/docs/images/small.svg`)
      .replace('./docs/rules.md', `${at}/sandbox/docs/rules.md`),
  )
})

test('links of another page are absolute if they leave the package', () => {
  expect(read('second', 'docs/rules.md')).toBe(
    RULES.replace('../../docs/testing.md', `${REPOSITORY}/blob/v${version}/docs/testing.md`).replace(
      'images/page.png',
      `${REPOSITORY}/raw/v${version}/sandbox/docs/images/page.png`,
    ),
  )
})

test('the second package has the license, and only the files that it lists', () => {
  const files = filesUnder(unpacked.second ?? '').sort()
  expect(files).toEqual(['LICENSE', 'README.md', 'docs/rules.md', 'package.json'])
})

test.each([[{ type: 'git', url: REPOSITORY }], [`git+${REPOSITORY}.git`], ['owner/name']])(
  'refuses %j as the address',
  (address) => {
    const folder = mkdtempSync(join(tmpdir(), 'tix-webhooks-address-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...packageJson, repository: address }))
    expect(() => packAll(folder, folder)).toThrow('"https://HOST/OWNER/NAME"')
  },
)

test('refuses a package that is not built', () => {
  const [built = ''] = BUILT
  rmSync(join(repository, built))
  expect(() => packAll(repository, repository)).toThrow('run npm run build first')
})

test('the address of this repository is filled in', ({ skip }) => {
  if (!('repository' in packageJson)) {
    console.warn(`SKIPPED: ${NO_REPOSITORY}`)
    skip(NO_REPOSITORY)
  }
  // The fields that are derived from it are only in the tarball.
  expect(packageJson).not.toHaveProperty('homepage')
  expect(packageJson).not.toHaveProperty('bugs')
  expect(packageJson).toHaveProperty('repository', expect.stringMatching(/^https:/))
})

test.each([packageJson, sandboxJson])('only the tarball of $name can be published', ({ scripts }) => {
  expect(scripts.prepublishOnly).toMatch(/exit 1$/)
})

function write(file: string, text: string): void {
  mkdirSync(dirname(join(repository, file)), { recursive: true })
  writeFileSync(join(repository, file), text)
}

function read(name: string, file: string): string {
  return readFileSync(join(unpacked[name] ?? '', file), 'utf8')
}

function json(name: string): unknown {
  return JSON.parse(read(name, 'package.json'))
}

function contents(folder: string): Map<string, string> {
  return new Map(filesUnder(folder).map((file) => [file, readFileSync(join(folder, file), 'utf8')]))
}
