import { fromMarkdown } from 'mdast-util-from-markdown'
import { type Edit, type RawHtml, type Span, stripHtml } from './strip-html.js'

/** The forbidden parts of a source. */
interface Findings {
  /** Raw HTML, in the order of the source. */
  readonly html: readonly RawHtml[]
  /** Links such as `<javascript:…>` that are their own text. */
  readonly autolinks: readonly Span[]
  /** Targets of links, images and definitions. */
  readonly targets: readonly Span[]
}

type Node = ReturnType<typeof fromMarkdown> | ReturnType<typeof fromMarkdown>['children'][number]

const SAFE_SCHEMES = ['http', 'https', 'mailto', 'tel']

/** An address of these is itself a program, or a page: it is no text to keep. */
const RUNNING = /^(?:javascript|vbscript|data):/i

/** After so many passes what is left was written to get through: then no mark of HTML or of a link stays one. */
const PATIENCE = 4

/**
 * Markdown without raw HTML, of which the text stays, and without targets of links that could run or load anything but pages: these
 * become `#` (spec section 2.1: "sanitized by the service"). What is sanitized already stays as it is.
 */
export function sanitizeMarkdown(markdown: string): string {
  let source = markdown
  for (let pass = 0; ; pass += 1) {
    const { html, autolinks, targets } = findingsIn(source)
    if (html.length === 0 && autolinks.length === 0 && targets.length === 0) return source
    if (pass === PATIENCE) {
      source = source.replaceAll('<', '&lt;').replaceAll('[', '&#91;')
      continue
    }
    // Removing HTML can join other HTML, as in `<<b>script>`: from the second pass on, it is written as text.
    const stripped = pass === 0 ? stripHtml(source, html) : html.map((span) => asText(source, span))
    const others = [
      ...autolinks.map((span) => ({ ...span, text: withoutBrackets(source, span) })),
      ...targets.map((span) => ({ ...span, text: '#' })),
    ].filter(({ start, end }) => !stripped.some((edit) => start < edit.end && end > edit.start))
    const edits: Edit[] = [...stripped, ...others]
    for (const { start, end, text } of edits.sort((a, b) => b.start - a.start)) {
      source = source.slice(0, start) + text + source.slice(end)
    }
  }
}

function asText(source: string, { start, end }: Span): Edit {
  return { start, end, text: source.slice(start, end).replaceAll('<', '&lt;') }
}

/** The text of an autolink (`<https://…>`), without its brackets; empty if its URL would run a program. */
function withoutBrackets(source: string, { start, end }: Span): string {
  const text = source.slice(start + 1, end - 1)
  return RUNNING.test(text) ? '' : text
}

/** Whether a link may lead there: to a page, relative ones too, a mailbox or a telephone. */
export function isSafeTarget(url: string): boolean {
  // Browsers leave out controls and blanks that stand within a scheme; what cannot be read here, others may read as one of these.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url.replace(/[\u0000- \uFFFD]/g, ''))?.[1]
  return scheme === undefined || SAFE_SCHEMES.includes(scheme.toLowerCase())
}

function findingsIn(source: string): Findings {
  const destinations: Span[] = []
  const note = (token: { start: { offset: number }; end: { offset: number } }): void => {
    destinations.push({ start: token.start.offset, end: token.end.offset })
  }
  const tree = fromMarkdown(source, {
    mdastExtensions: [{ enter: { resourceDestination: note, definitionDestination: note } }],
  })
  const html: RawHtml[] = []
  const autolinks: Span[] = []
  const targets: Span[] = []
  // A stack of its own: quotes can be nested deeper than calls.
  const nodes: { node: Node; blockEnd: number; isRoot: boolean }[] = [
    { node: tree, blockEnd: source.length, isRoot: false },
  ]
  for (let next = nodes.pop(); next !== undefined; next = nodes.pop()) {
    const { node, blockEnd, isRoot } = next
    const span = { start: node.position?.start.offset ?? 0, end: node.position?.end.offset ?? source.length }
    if (node.type === 'html') html.push({ ...span, blockEnd, isWhole: isRoot })
    else if ('url' in node && !isSafeTarget(node.url)) {
      if (source[span.start] === '<') autolinks.push(span)
      else targets.push(lastWithin(destinations, span) ?? span)
    }
    if (!('children' in node)) continue
    const isBlock = node.type === 'paragraph' || node.type === 'heading'
    for (const child of node.children) {
      const ends = isBlock
        ? span.end
        : child.type === 'html'
          ? (child.position?.end.offset ?? blockEnd)
          : blockEnd
      nodes.push({ node: child, blockEnd: ends, isRoot: node.type === 'root' })
    }
  }
  return { html: html.sort((a, b) => a.start - b.start), autolinks, targets }
}

/** The last span within a link, which is its own target: those of images in its text come before it. */
function lastWithin(spans: readonly Span[], { start, end }: Span): Span | undefined {
  return spans.filter((span) => span.start >= start && span.end <= end).at(-1)
}
