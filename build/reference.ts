// Writes the tables of docs/reference.md from the docblocks of the source: `npm run docs`.
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'

const PAGE = new URL('../docs/reference.md', import.meta.url)

/** The tables of the page by the name of their marker: an interface of a source file, with one row for each member. */
const TABLES: Readonly<Record<string, { file: string; interface: string; head: string }>> = {
  options: { file: 'src/receiver/options/options.ts', interface: 'WebhookOptions', head: 'option' },
  context: { file: 'src/event/handlers.ts', interface: 'HandlerContext', head: 'member' },
  record: { file: 'src/receiver/options/options.ts', interface: 'DeliveryRecord', head: 'member' },
}

/** The page with its tables generated from the current source. */
export function referencePage(): string {
  let page = readFileSync(PAGE, 'utf8')
  for (const [name, table] of Object.entries(TABLES)) {
    const block = new RegExp(`(<!-- ${name} -->\n)[^]*?(<!-- /${name} -->)`)
    if (!block.test(page)) throw new Error(`docs/reference.md has no <!-- ${name} --> … <!-- /${name} -->`)
    page = page.replace(block, (_, open, close) => `${open}\n${tableOf(table)}\n\n${close}`)
  }
  return page
}

function tableOf({ file, interface: name, head }: (typeof TABLES)[string]): string {
  const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const declaration = source.statements.find(
    (statement): statement is ts.InterfaceDeclaration =>
      ts.isInterfaceDeclaration(statement) && statement.name.text === name,
  )
  if (declaration === undefined) throw new Error(`${file} has no interface ${name}`)
  const hasDefaults = head === 'option'
  const rows = declaration.members.map((member) => {
    const { meaning, byDefault } = partsOf(docblockOf(member))
    return [`\`${member.name?.getText(source)}\``, ...(hasDefaults ? [byDefault] : []), meaning]
  })
  const heads = [head, ...(hasDefaults ? ['default'] : []), 'meaning']
  const [first, ...body] = [heads, ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  return [first, `|${'---|'.repeat(heads.length)}`, ...body].join('\n')
}

/** The first sentence, and those that begin with "Default". The rest is for the editor. */
function partsOf(docblock: string): { meaning: string; byDefault: string } {
  const [first = '', ...others] = docblock.split(/(?<=[.)]) (?=[A-Z])/)
  const defaults = others.filter((sentence) => /^Default\b/.test(sentence))
  return {
    meaning: first.replace(/\.$/, ''),
    byDefault: defaults.map((one) => one.replace(/^Default:? /, '').replace(/\.$/, '')).join(' '),
  }
}

function docblockOf(member: ts.Node): string {
  const [docblock] = ts.getJSDocCommentsAndTags(member)
  const text = docblock && ts.getTextOfJSDocComment((docblock as ts.JSDoc).comment)
  if (!text) throw new Error(`${member.getText()} has no docblock`)
  return text.replace(/\s+/g, ' ').replaceAll('|', '\\|')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) writeFileSync(PAGE, referencePage())
