// Writes api/*.md: the types of each entry, as a user's compiler sees them in dist/. `npm run api`.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import ts from 'typescript'
import receiverJson from '../package.json' with { type: 'json' }
import sandboxJson from '../sandbox/package.json' with { type: 'json' }

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FOLDER = `${ROOT}api/`

const HEAD =
  'Made by `npm run api` from the built declarations; the tests fail if it is not what is built. Do not edit.'

interface Report {
  /** The specifier that users import, such as `tix-webhooks/express`. */
  readonly entry: string
  readonly exported: Map<string, ts.Symbol>
  /** Declarations that the exports use and users cannot name. */
  readonly hidden: Set<ts.Symbol>
}

/** Both packages, the first one first: what it declares, the second one uses. */
const PACKAGES = [
  { folder: ROOT, ...receiverJson },
  { folder: `${ROOT}sandbox/`, ...sandboxJson },
]

/** The report of each entry, by its file name. */
export function apiReports(): Map<string, string> {
  // Those of CommonJS: the ones of ESM export them again (build/declarations.mjs).
  const entries = PACKAGES.flatMap(({ folder, name, exports }) =>
    Object.entries(exports).flatMap(([subpath, conditions]) =>
      typeof conditions === 'string'
        ? []
        : [{ entry: name + subpath.slice('.'.length), file: folder + conditions.require.types.slice(2) }],
    ),
  )
  // Only declarations are compiled: no library, no types of other packages.
  const program = ts.createProgram(
    entries.map(({ file }) => file),
    { noLib: true, types: [], module: ts.ModuleKind.NodeNext },
  )
  const checker = program.getTypeChecker()
  const reports = entries.map(({ entry, file }): Report => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file) ?? missing(file))
    const exported = checker.getExportsOfModule(module ?? missing(file))
    return {
      entry,
      exported: new Map(exported.map((symbol) => [symbol.name, target(symbol)])),
      hidden: new Set(),
    }
  })

  // Each declaration appears in one report: of the entry that exports it first, else of the one that uses it first.
  const home = new Map<ts.Symbol, string>()
  for (const { entry, exported } of reports) {
    for (const symbol of exported.values()) if (!home.has(symbol)) home.set(symbol, entry)
  }
  for (const { entry, exported, hidden } of reports) {
    const queue = [...exported.values()].filter((symbol) => home.get(symbol) === entry)
    for (let symbol = queue.pop(); symbol !== undefined; symbol = queue.pop()) {
      for (const used of usedBy(symbol)) {
        if (home.has(used)) continue
        home.set(used, entry)
        hidden.add(used)
        queue.push(used)
      }
    }
  }
  return new Map(reports.map((report) => [`${fileName(report.entry)}.md`, textOf(report)]))

  function target(symbol: ts.Symbol): ts.Symbol {
    return (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol)
  }

  /** The package's top-level declarations that a declaration refers to. */
  function usedBy(symbol: ts.Symbol): ts.Symbol[] {
    const used: ts.Symbol[] = []
    const visit = (node: ts.Node): void => {
      const named = ts.isIdentifier(node) ? checker.getSymbolAtLocation(node) : undefined
      if (named !== undefined && statementsOf(target(named)).length > 0) used.push(target(named))
      node.forEachChild(visit)
    }
    statementsOf(symbol).forEach(visit)
    return used
  }

  /** The references to other packages, as lines that import them. */
  function importsOf(symbols: readonly ts.Symbol[]): string[] {
    const lines = new Set<string>()
    const visit = (node: ts.Node): void => {
      const [declaration] = (ts.isIdentifier(node) && checker.getSymbolAtLocation(node)?.declarations) || []
      const line = declaration && importLine(declaration)
      if (line !== undefined) lines.add(line)
      node.forEachChild(visit)
    }
    symbols.flatMap(statementsOf).forEach(visit)
    return [...lines].sort()
  }

  function textOf({ entry, exported, hidden }: Report): string {
    const own: string[] = []
    const others = new Map<string, string[]>()
    for (const [name, symbol] of [...exported].sort(byName)) {
      const where = home.get(symbol) ?? entry
      if (where === entry) own.push(declarationOf(symbol, name))
      else others.set(where, [...(others.get(where) ?? []), name])
    }
    const again = [...others].map(([from, names]) => `export { ${names.join(', ')} } from '${from}'`)
    const unnamed = [...hidden].map((symbol) => declarationOf(symbol, symbol.name))
    const printed = [...exported.values()].filter((symbol) => home.get(symbol) === entry).concat(...hidden)
    const imports = importsOf(printed).join('\n')
    return [
      `# ${entry}`,
      HEAD,
      code([imports, ...own, ...again].filter((block) => block !== '')),
      ...(unnamed.length === 0 ? [] : ['## Used above, and not exported', code(unnamed.sort())]),
    ]
      .join('\n\n')
      .concat('\n')
  }
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1)

const code = (blocks: readonly string[]): string => `\`\`\`ts\n${blocks.join('\n\n')}\n\`\`\``

/** Such as `express` for `tix-webhooks/express`, and `sandbox` for `tix-webhooks-sandbox`. */
const fileName = (entry: string): string =>
  entry.replace(receiverJson.name, '').replaceAll('/', '-').replace(/^-/, '') || 'index'

const isReported = (file: string): boolean => PACKAGES.some(({ folder }) => file.startsWith(`${folder}dist/`))

/** The statements of dist/ that declare it; none if it is not a top-level declaration there. */
function statementsOf(symbol: ts.Symbol): ts.Statement[] {
  return (symbol.declarations ?? []).flatMap((declaration) => {
    const statement = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration
    const isOurs = isReported(statement.getSourceFile().fileName)
    return isOurs && ts.isStatement(statement) && ts.isSourceFile(statement.parent) ? [statement] : []
  })
}

const printer = ts.createPrinter({ removeComments: true })

function declarationOf(symbol: ts.Symbol, name: string): string {
  const text = statementsOf(symbol).map((statement) =>
    printer
      .printNode(ts.EmitHint.Unspecified, statement, statement.getSourceFile())
      .replace(/^(export )?(declare )?/, '')
      .replaceAll(/^( {4})+/gm, (indent) => ' '.repeat(indent.length / 2)),
  )
  if (name !== symbol.name) text.push(`export { ${symbol.name} as ${name} }`)
  return text.join('\n')
}

function importLine(declaration: ts.Declaration): string | undefined {
  let node: ts.Node = declaration
  while (!ts.isImportDeclaration(node)) {
    if (!ts.isImportSpecifier(node) && !ts.isNamedImports(node) && !ts.isImportClause(node)) return undefined
    node = node.parent
  }
  const from = (node.moduleSpecifier as ts.StringLiteral).text
  const name = declaration.getText()
  if (from.startsWith('.')) return undefined
  return `import ${ts.isImportSpecifier(declaration) ? `{ ${name} }` : name} from '${from}'`
}

function missing(file: string): never {
  throw new Error(`${file} is missing: npm run build`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const reports = apiReports()
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER)
  for (const [name, text] of reports) writeFileSync(FOLDER + name, text)
}
