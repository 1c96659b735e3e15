// Writes llms.txt: a summary of the package and links to its pages, for a language model. Part of `npm run build`.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** The text of llms.txt, made from the README and the pages of docs/. */
export function llms(): string {
  const [title = '', summary = '', line = ''] = blocksOf('README.md')
  const pages = readdirSync(`${ROOT}docs`).filter((name) => name.endsWith('.md'))
  // The demo needs the second package, and is not in the tarball.
  const examples = readdirSync(`${ROOT}examples`).filter((name) => name.endsWith('.ts') && name !== 'demo.ts')
  return [
    title,
    summary.replaceAll(/^/gm, '> '),
    line,
    '## README',
    listOf('README.md'),
    '## Docs',
    pages.map((name) => linkTo(`docs/${name}`) + listOf(`docs/${name}`, '  ')).join('\n'),
    '## Examples',
    examples.map((name) => `- [${name}](examples/${name}): ${firstComment(`examples/${name}`)}`).join('\n'),
  ]
    .join('\n\n')
    .concat('\n')
}

const read = (file: string): string => readFileSync(ROOT + file, 'utf8')

/** The title, paragraphs and code blocks of a page, each with its lines. */
function blocksOf(file: string): string[] {
  return [...read(file).matchAll(/^```[\s\S]*?^```$|^(?!\n).+(?:\n(?!\n|```).+)*/gm)].map(([block]) => block)
}

/** `- [Title](file): the first sentence`. */
function linkTo(file: string): string {
  const [title = '', first = ''] = blocksOf(file)
  const [sentence = ''] = withoutLinks(first.replaceAll('\n', ' ')).split(/(?<=\.) /)
  return `- [${title.replace(/^# /, '')}](${file}): ${sentence}`
}

/** Their targets would be those of another folder. */
const withoutLinks = (text: string): string => text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')

/** Its sections, as links. */
function listOf(file: string, indent?: string): string {
  const prose = read(file).replaceAll(/^```[\s\S]*?^```$/gm, '')
  const links = [...prose.matchAll(/^## (.+)$/gm)].map(
    ([, heading = '']) => `[${plain(heading)}](${file}#${anchor(heading)})`,
  )
  if (indent === undefined) return links.map((link) => `- ${link}`).join('\n')
  return links.map((link) => `\n${indent}- ${link}`).join('')
}

const plain = (heading: string): string => heading.replaceAll('`', '')

/** The anchor of a heading, by the rule of GitHub and npm. */
export function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
}

/** The first sentence of the comment at the start of a file. */
function firstComment(file: string): string {
  const lines = /^(?:\/\/.*\n)+/.exec(read(file))?.[0] ?? ''
  const [sentence = ''] = lines
    .replaceAll(/^\/\/ ?/gm, '')
    .replaceAll('\n', ' ')
    .split(/(?<=\.) /)
  return sentence.trim()
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) writeFileSync(`${ROOT}llms.txt`, llms())
