import { execFileSync } from 'node:child_process'
import { beforeAll, describe, expect, test } from 'vitest'
import { anchor, llms } from '../../build/llms.js'
import packageJson from '../../package.json' with { type: 'json' }
import { build } from '../support/packed.js'
import { linksOf, PAGES, readPage } from '../support/pages.js'
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
  test.each(PAGES)('is %s', (page) => {
    expect(packed).toContain(page)
  })

  test('every link of a page leads to a file', () => {
    const links = PAGES.flatMap(linksOf)
    expect(links.length).toBeGreaterThan(40)
    expect(links.filter(({ file }) => !packed.includes(file))).toEqual([])
  })

  test('every anchor of a link is a heading', () => {
    const links = PAGES.flatMap(linksOf).filter(({ file }) => PAGES.includes(file))
    const missing = links.filter(
      ({ file, anchor }) => anchor !== undefined && !anchorsOf(file).includes(anchor),
    )
    expect(missing).toEqual([])
  })

  test('is llms.txt, which has the title of every page of docs and links to nothing outside', () => {
    expect(packed).toContain('llms.txt')
    const text = readPage('llms.txt')
    expect(text).toBe(llms())
    for (const page of PAGES.filter((name) => name.startsWith('docs/'))) {
      expect(text).toContain(`- [${/^# (.+)$/m.exec(readPage(page))?.[1]}](${page})`)
    }
    const targets = [...text.matchAll(/\]\(([^)#]*)/g)].map(([, target = '']) => target)
    expect(targets.filter((target) => !packed.includes(target))).toEqual([])
  })
})

test('llms.txt is made by the build', () => {
  expect(packageJson.scripts.build).toContain('tsx build/llms.ts')
})
