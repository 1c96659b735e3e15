import { parser } from '@lezer/markdown'
import MarkdownIt from 'markdown-it'

/** A part of the source, and the text that replaces it. */
interface Edit {
  readonly from: number
  readonly to: number
  readonly text: string
}

/** The nodes of raw HTML: blocks, tags, comments and instructions. */
const HTML = /^(?:HTML|Comment|ProcessingInstruction)/

/** Elements whose content a browser does not show. */
const HIDDEN = /<(script|style|template|iframe|noembed|noframes)\b[^>]*>[\s\S]*?<\/\1\s*>/gi

/** A comment, instruction, declaration or tag; or a `<` that begins none of them. */
const MARKUP =
  /<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[[\s\S]*?\]\]>|<![a-z][^>]*>|<\/?([a-z][^\s/>]*)(?:"[^"]*"|'[^']*'|[^'">])*>|</gi

/** Block elements. Where their tags are removed, a blank keeps the words on both sides apart. */
const BLOCKS =
  /^(?:article|aside|blockquote|br|d[dlt]|div|footer|h[1-6]|header|hr|li|ol|p|pre|section|table|t[dhr]|ul)$/i

/** A URL without a scheme, or with a harmless one. A character reference or an escape before the path could hide a scheme's colon. */
const SAFE_TARGET = /^<?(?:(?:https?|mailto|tel):|(?:[^:&\\]|&(?!#|[a-z0-9]+;)|\\(?=[*_~]))*(?:[/?#]|$))/i

/**
 * A `<` after the first character, or white space other than blanks and tabs. CommonMark allows both in a target, but other readers find
 * no target there, and so take what follows for HTML.
 */
const NO_TARGET = /.<|[^\S \t]/s

/** A target of a definition that another reader, which is stricter about the blanks around it, takes for a tag. */
const LIKE_TAG = /^<(?!(?:https?|mailto|tel):)[a-z!?/]/i

/** Finds everything, and leaves targets as they are written. */
const judge = new MarkdownIt('commonmark', { html: true })
judge.validateLink = () => true
judge.normalizeLink = (url) => url

/** Removing HTML can join other HTML, as in `<<b>script>`. After this many passes, all marks of HTML and of links are written as text. */
const MAX_PASSES = 4

/**
 * Markdown without raw HTML, whose text stays, and without link targets other than pages, mailboxes and telephones, which become
 * `#`. Other Markdown stays as it is.
 */
export function sanitizeMarkdown(markdown: string): string {
  let source = markdown
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const edits = editsOf(source)
    if (edits.length === 0 && isClean(source)) return source
    source = edited(source, edits)
  }
  return source.replaceAll('<', '&lt;').replaceAll('[', '&#91;')
}

/** Whether the parser of the public page finds no HTML either. In corner cases the two parsers differ. */
function isClean(source: string): boolean {
  const tokens = judge.parse(source, {}).flatMap((token) => [token, ...(token.children ?? [])])
  return tokens.every((token) => {
    const target = token.attrGet('href') ?? token.attrGet('src')
    return !token.type.startsWith('html_') && (target === null || SAFE_TARGET.test(String(target)))
  })
}

function edited(source: string, edits: readonly Edit[]): string {
  let done = 0
  const parts = edits.map(({ from, to, text }) => {
    const part = source.slice(done, from) + text
    done = to
    return part
  })
  return parts.join('') + source.slice(done)
}

/** In their order, none within another. */
function editsOf(source: string): Edit[] {
  const edits: Edit[] = []
  let done = 0
  const replace = (from: number, to: number, text: string): void => {
    edits.push({ from, to, text })
    done = to
  }
  // Markdown takes a carriage return alone for the end of a line, and this parser does not.
  parser.parse(source.replace(/\r(?!\n)/g, '\n')).iterate({
    enter({ name, from, to, node }) {
      if (to <= done) return
      const start = Math.max(from, done)
      if (HTML.test(name)) {
        const end = endOf(source, start, to)
        replace(start, end, textOf(source.slice(start, end), name === 'HTMLBlock'))
      } else if (
        (name === 'URL' || name === 'Autolink') &&
        !isTarget(source.slice(start, to), node.parent?.name)
      ) {
        replace(start, to, name === 'URL' ? '#' : source.slice(start + 1, to - 1))
      }
    },
  })
  return edits
}

function isTarget(written: string, within: string | undefined): boolean {
  if (within === 'LinkReference' && LIKE_TAG.test(written)) return false
  return SAFE_TARGET.test(written) && !NO_TARGET.test(written)
}

/** The end of HTML that begins there: a hidden element ends with its end tag, which can be in a later node. */
function endOf(source: string, from: number, to: number): number {
  let end = to
  for (const { 0: element, index } of source.slice(from).matchAll(HIDDEN)) {
    if (from + index >= end) break
    end = Math.max(end, from + index + element.length)
  }
  return end
}

function textOf(html: string, isBlock: boolean): string {
  const text = html.replace(HIDDEN, '').replace(MARKUP, (markup: string, tag: string | undefined) => {
    if (markup === '<') return '&lt;'
    return tag !== undefined && BLOCKS.test(tag) ? ' ' : ''
  })
  // Markdown would render text that HTML indented as code.
  return isBlock ? text.replace(/^[ \t]+|[ \t]+$/gm, '') : text
}
