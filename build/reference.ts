// Writes the tables of docs/reference.md from the docblocks of the source: `npm run docs`.
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'

const PAGE = new URL('../docs/reference.md', import.meta.url)

/** The tables of the page by the name of their marker: an interface of a source file, one row for each member. */
const TABLES: Readonly<Record<string, { file: string; interface: string; head: string }>> = {
  options: { file: 'src/receiver/options/options.ts', interface: 'WebhookOptions', head: 'option' },
  signature: { file: 'src/signature/scheme.ts', interface: 'SignatureOptions', head: 'option' },
  context: { file: 'src/receiver/handlers.ts', interface: 'HandlerContext', head: 'member' },
  record: { file: 'src/receiver/options/options.ts', interface: 'DeliveryRecord', head: 'member' },
  memory: { file: 'src/idempotency/memory/memory-store.ts', interface: 'MemoryStoreOptions', head: 'option' },
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
    const type = (member as ts.PropertySignature).type?.getText(source) ?? ''
    const { meaning, byDefault } = partsOf(docblockOf(member))
    return [`\`${member.name?.getText(source)}\``, code(type), ...(hasDefaults ? [byDefault] : []), meaning]
  })
  const heads = [head, 'type', ...(hasDefaults ? ['default'] : []), 'meaning']
  return [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** The page says once, above the table, that options may be undefined. */
function code(type: string): string {
  const shown = type
    .replace(/\s+/g, ' ')
    .replace(/ \| undefined$/, '')
    .replace(/^\((.*)\)$/, (whole, inner) => (inner.includes(') =>') ? inner : whole))
    .replaceAll(/NotInferred<(\w+)>/g, '$1')
    .replaceAll('|', '\\|')
  return `\`${shown}\``
}

/** The sentence that begins with "Default" becomes its own column. */
function partsOf(docblock: string): { meaning: string; byDefault: string } {
  const sentences = docblock.split(/(?<=[.)]) (?=[A-Z])/)
  const isDefault = (sentence: string): boolean => /^Default\b/.test(sentence)
  const byDefault = sentences
    .filter(isDefault)
    .map((one) => one.replace(/^Default:? /, '').replace(/\.$/, ''))
  return { meaning: sentences.filter((one) => !isDefault(one)).join(' '), byDefault: byDefault.join(' ') }
}

function docblockOf(member: ts.Node): string {
  const [docblock] = ts.getJSDocCommentsAndTags(member)
  const text = docblock && ts.getTextOfJSDocComment((docblock as ts.JSDoc).comment)
  if (!text) throw new Error(`${member.getText()} has no docblock`)
  return text.replace(/\s+/g, ' ').replaceAll('|', '\\|')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) writeFileSync(PAGE, referencePage())
