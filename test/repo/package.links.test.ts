import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { anchor, llms } from '../../build/llms.js'
import packageJson from '../../package.json' with { type: 'json' }
import { build } from '../support/packed.js'
import { type Link, linksOf, PACKED_PAGES, PAGES, readPage } from '../support/pages.js'
import { ROOT } from '../support/root.js'

let packed: readonly string[]
beforeAll(() => {
  build()
  const flags = ['--dry-run', '--json', '--ignore-scripts']
  const listing = execFileSync('npm', ['pack', ...flags], { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' })
  const [{ files }] = JSON.parse(listing)
  packed = files.map(({ path }: { path: string }) => path)
}, 120_000)

/** The anchors of a page: its headings as `#…`. */
function anchorsOf(page: string): string[] {
  const prose = readPage(page).replaceAll(/^```[\s\S]*?^```$/gm, '')
  return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchor(heading))
}

describe('in the tarball', () => {
  test.each(PACKED_PAGES)('is %s', (page) => {
    expect(packed).toContain(page)
  })

  // Those of the README become absolute when it is packed.
  test('every link of the other pages leads to a file that is there, but for pictures, benchmarks, whole apps and the sandbox', () => {
    const isLeftOut = ({ file }: Link): boolean =>
      /\.(svg|png)$|^(bench|runtimes|sandbox|examples\/(reseller|testing))\//.test(file)
    const links = PACKED_PAGES.filter((page) => page !== 'README.md').flatMap(linksOf)
    expect(links.length).toBeGreaterThan(40)
    expect(links.filter((link) => !isLeftOut(link) && !packed.includes(link.file))).toEqual([])
  })

  test('is llms.txt, which has the title of every page of docs and links to nothing outside', () => {
    expect(packed).toContain('llms.txt')
    const text = readPage('llms.txt')
    expect(text).toBe(llms())
    for (const page of PACKED_PAGES.filter((name) => name.startsWith('docs/'))) {
      expect(text).toContain(`- [${/^# (.+)$/m.exec(readPage(page))?.[1]}](${page})`)
    }
    const targets = [...text.matchAll(/\]\(([^)#]*)/g)].map(([, target = '']) => target)
    expect(targets.filter((target) => !packed.includes(target))).toEqual([])
  })
})

test('every link of a page leads to a file, and every anchor to a heading', () => {
  const links = PAGES.flatMap(linksOf)
  expect(links.filter(({ file }) => !existsSync(`${ROOT}${file}`))).toEqual([])
  const missing = links.filter(
    ({ file, anchor }) => PAGES.includes(file) && anchor !== undefined && !anchorsOf(file).includes(anchor),
  )
  expect(missing).toEqual([])
})

test('llms.txt is made by the build', () => {
  expect(packageJson.scripts.build).toContain('tsx build/llms.ts')
})
