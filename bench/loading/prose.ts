import ts from 'typescript'

/** The text in code that is for people, and the code without it. */
export interface Prose {
  readonly bytes: number
  readonly without: string
}

const THREE_WORDS = /\S+\s+\S+\s+\S/

/** Removes the text of string and template literals of three words or more. */
export function proseOf(code: string): Prose {
  const source = ts.createSourceFile('code.js', code, ts.ScriptTarget.ES2022)
  const cuts: [start: number, end: number][] = []
  const visit = (node: ts.Node): void => {
    const texts = ts.isTemplateExpression(node)
      ? [node.head, ...node.templateSpans.map(({ literal }) => literal)]
      : ts.isStringLiteralLike(node)
        ? [node]
        : []
    if (THREE_WORDS.test(texts.map(({ text }) => text).join('x'))) {
      // Without the quotes and the delimiters of placeholders.
      for (const text of texts)
        cuts.push([
          text.getStart(source) + 1,
          text.end - (ts.isTemplateHead(text) || ts.isTemplateMiddle(text) ? 2 : 1),
        ])
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  cuts.sort(([a], [b]) => a - b)
  let without = ''
  let end = 0
  for (const [from, to] of cuts) {
    without += code.slice(end, from)
    end = to
  }
  without += code.slice(end)
  return { bytes: Buffer.byteLength(code) - Buffer.byteLength(without), without }
}
