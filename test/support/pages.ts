import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { ROOT } from './root.js'

const pagesOf = (folder: string): string[] =>
  readdirSync(`${ROOT}${folder}`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`)

/** The pages in the first package, by path. */
export const PACKED_PAGES: readonly string[] = [
  'README.md',
  'CHANGELOG.md',
  'SECURITY.md',
  ...pagesOf('docs'),
]

/** Those in the second package, by path from the root. */
export const SANDBOX_PAGES: readonly string[] = ['sandbox/README.md', ...pagesOf('sandbox/docs')]

/** All pages for users and contributors. */
export const PAGES: readonly string[] = [
  ...PACKED_PAGES,
  ...SANDBOX_PAGES,
  'bench/RESULTS.md',
  'runtimes/RESULTS.md',
  'sandbox/domain/RULES.md',
  'CONTRIBUTING.md',
]

export const readPage = (file: string): string => readFileSync(`${ROOT}${file}`, 'utf8')

export interface Link {
  readonly page: string
  /** From the root of the package. */
  readonly file: string
  /** Without its `#`. */
  readonly anchor: string | undefined
}

/** The links of a page, images included, to other files and to its own sections. */
export function linksOf(page: string): Link[] {
  const links = readPage(page).matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)/g)
  return [...links].map(([, path = '', anchor]) => ({
    page,
    file: path === '' ? page : posix.join(posix.dirname(page), path),
    anchor,
  }))
}

/** The cells of the rows of a table that begin with code, without their backticks. */
export function tableUnder(page: string, heading: string): string[][] {
  const [, section = ''] = readPage(page).split(new RegExp(`^#+ ${heading}$`, 'm'))
  const rows = section.split(/^#+ /m)[0]?.match(/^\| `.*$/gm) ?? []
  return rows.map((row) =>
    row
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}
