import { fromMarkdown } from 'mdast-util-from-markdown'

/** A part of the source, from an offset up to another. */
interface Span {
  readonly start: number
  readonly end: number
}

/** What a source has that it must not have. */
interface Findings {
  /** Raw HTML, and links such as `<javascript:…>` that are their own text. */
  readonly html: readonly Span[]
  /** Targets of links, images and definitions. */
  readonly targets: readonly Span[]
}

type Node = ReturnType<typeof fromMarkdown> | ReturnType<typeof fromMarkdown>['children'][number]

const SAFE_SCHEMES = ['http', 'https', 'mailto', 'tel']

/** After so many passes what is left was written to get through: then no mark of HTML or of a link stays one. */
const PATIENCE = 4

/**
 * Markdown without raw HTML, and without targets of links that could run or load anything but pages: these become `#`
 * (spec section 2.1: "sanitized by the service"). What is sanitized already stays as it is.
 */
export function sanitizeMarkdown(markdown: string): string {
  let source = markdown
  for (let pass = 0; ; pass += 1) {
    const { html, targets } = findingsIn(source)
    if (html.length === 0 && targets.length === 0) return source
    if (pass === PATIENCE) {
      source = source.replaceAll('<', '&lt;').replaceAll('[', '&#91;')
      continue
    }
    const edits = [
      // What is cut out can bring other HTML together, as in `<<b>script>`: from then on it is written as text instead.
      ...html.map((span) => ({
        ...span,
        text: pass === 0 ? '' : source.slice(span.start, span.end).replaceAll('<', '&lt;'),
      })),
      ...targets.map((span) => ({ ...span, text: '#' })),
    ]
    for (const { start, end, text } of edits.sort((a, b) => b.start - a.start)) {
      source = source.slice(0, start) + text + source.slice(end)
    }
  }
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
  const html: Span[] = []
  const targets: Span[] = []
  // A stack of its own: quotes can be nested deeper than calls.
  const nodes: Node[] = [tree]
  for (let node = nodes.pop(); node !== undefined; node = nodes.pop()) {
    const span = { start: node.position?.start.offset ?? 0, end: node.position?.end.offset ?? source.length }
    if (node.type === 'html') html.push(span)
    else if ('url' in node && !isSafeTarget(node.url)) {
      const own = source[span.start] === '<' ? undefined : lastWithin(destinations, span)
      if (own === undefined) html.push(span)
      else targets.push(own)
    }
    if ('children' in node) nodes.push(...node.children)
  }
  return { html, targets }
}

/** Of a link its own target: those of the images in its text come before. */
function lastWithin(spans: readonly Span[], { start, end }: Span): Span | undefined {
  return spans.filter((span) => span.start >= start && span.end <= end).at(-1)
}
