import { readdirSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { ROOT } from './root.js'

/** The names of the source files in a folder, without their extension; not what is built or installed in it. */
export function modulesIn(folder: string): string[] {
  return readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !/^(dist|node_modules)\//.test(file))
    .map((file) => file.slice(0, -'.ts'.length))
}

export interface Import {
  readonly specifier: string
  /** Whether nothing of it remains at run time. */
  readonly typeOnly: boolean
}

/** The imports, re-exports and `import('…')` types of a source file. */
export function importsOf(path: string): Import[] {
  const imports: Import[] = []
  for (const node of nodesOf(path)) {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, node.importClause?.phaseModifier)
    if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, node.isTypeOnly)
    if (ts.isImportTypeNode(node)) add(node.argument, true)
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node.arguments[0], false)
    }
  }
  return imports

  function add(at: ts.Node | undefined, typeOnly: unknown): void {
    if (at === undefined) return
    const literal = ts.isLiteralTypeNode(at) ? at.literal : at
    imports.push({
      specifier: ts.isStringLiteralLike(literal) ? literal.text : '(computed)',
      typeOnly: typeOnly === true || typeOnly === ts.SyntaxKind.TypeKeyword,
    })
  }
}

/** Every node of a source file: its code, without comments. */
export function* nodesOf(path: string): Generator<ts.Node> {
  const code = readFileSync(`${ROOT}${path}`, 'utf8')
  const stack: ts.Node[] = [ts.createSourceFile(path, code, ts.ScriptTarget.Latest, true)]
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    yield node
    node.forEachChild((child) => void stack.push(child))
  }
}
