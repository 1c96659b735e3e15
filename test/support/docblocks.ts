import ts from 'typescript'
import { ROOT } from './root.js'

/** The contents of the docblock of a public function or class. */
export interface Documented {
  readonly file: string
  readonly name: string
  readonly summary: string
  readonly examples: number
  /** The code of the examples in a fenced block of TypeScript. */
  readonly code: readonly string[]
}

/** The docblocks of all functions and classes that the entries export, wherever they are declared. */
export function docblocksOf(entries: readonly string[]): Documented[] {
  // Only declarations are compiled: no library, no types of other packages.
  const program = ts.createProgram(
    entries.map((entry) => `${ROOT}${entry}`),
    { noLib: true, types: [], module: ts.ModuleKind.NodeNext },
  )
  const checker = program.getTypeChecker()
  return entries.flatMap((entry) => {
    const source = program.getSourceFile(`${ROOT}${entry}`)
    const module = source && checker.getSymbolAtLocation(source)
    if (module === undefined) throw new Error(`${entry} is no module`)
    return checker.getExportsOfModule(module).flatMap((exported) => {
      const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0
      const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported
      if ((symbol.flags & (ts.SymbolFlags.Function | ts.SymbolFlags.Class)) === 0) return []
      const examples = symbol.getJsDocTags(checker).filter(({ name }) => name === 'example')
      const codeOf = ({ text }: ts.JSDocTagInfo): string[] =>
        /^```ts\n([\s\S]+)\n```$/.exec(ts.displayPartsToString(text))?.slice(1) ?? []
      return {
        file: entry,
        name: exported.name,
        summary: ts.displayPartsToString(symbol.getDocumentationComment(checker)),
        examples: examples.length,
        code: examples.flatMap(codeOf),
      }
    })
  })
}
