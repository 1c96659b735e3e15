/** A part of the source, from an offset up to another. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** The text that replaces a part of the source. */
export interface Edit extends Span {
  readonly text: string
}

/** Raw HTML, as a reader of Markdown finds it. */
export interface RawHtml extends Span {
  /** The end of its paragraph or block. */
  readonly blockEnd: number
  /** Whether it is a block of its own, in no list and no quote. */
  readonly isWhole: boolean
}

/** Browsers do not show the content of these elements. */
const HIDDEN = ['script', 'style', 'template', 'iframe', 'noembed', 'noframes']

/** Tags that stand within a word or a sentence. All others end a word. */
const WITHIN_TEXT = new Set(
  'a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q rp rt ruby s samp small span strike strong sub sup time tt u var wbr'.split(
    ' ',
  ),
)

/** Markup: comments, instructions, declarations, tags; or a `<` that begins none of them. */
const TOKEN =
  /<!---?>|<!--[\s\S]*?--!?>|<\?[\s\S]*?\?>|<!\[CDATA\[[\s\S]*?\]\]>|<![A-Za-z][^>]*>|<(\/?)([A-Za-z][^\s/>]*)(?:"[^"]*"|'[^']*'|[^'">])*>|</g

/** A `<` before one of these is not a tag: "1 < 2", "I <3 NY". */
const PLAIN_AFTER = /[\s\d=]/

/**
 * Removes tags, and elements whose content is not shown, and keeps the other text. A `<` that begins no whole tag is written as text.
 *
 * @param found in the order of the source, none within another
 */
export function stripHtml(source: string, found: readonly RawHtml[]): Edit[] {
  const edits: Edit[] = []
  let from = 0
  for (const html of found) {
    if (html.end <= from) continue
    const strip = new Strip(source, found, { ...html, start: Math.max(html.start, from) }, from)
    edits.push(strip.edit())
    from = strip.at
  }
  return edits
}

/** One node of raw HTML, and the text after it up to the end tag if its element is hidden. */
class Strip {
  readonly #source: string
  readonly #found: readonly RawHtml[]
  readonly #html: RawHtml
  /** Whether the character before the node is part of a word; false after a removed part. */
  readonly #isAfterWord: boolean
  #text = ''
  /** Whether a tag ended a word. */
  #isWordEnd = false
  /** The index of the next character to read. */
  at: number

  constructor(source: string, found: readonly RawHtml[], html: RawHtml, from: number) {
    this.#source = source
    this.#found = found
    this.#html = html
    this.#isAfterWord = html.start > from && isWordAt(source, html.start - 1)
    this.at = html.start
  }

  edit(): Edit {
    const { start, end, isWhole } = this.#html
    const token = new RegExp(TOKEN)
    while (this.at < end) {
      token.lastIndex = this.at
      const match = token.exec(this.#source.slice(0, end))
      this.#add(this.#source.slice(this.at, match?.index ?? end))
      this.at = match === null ? end : this.#pass(match)
    }
    if (this.#isWordEnd && this.#endsWord() && isWordAt(this.#source, this.at)) this.#text += ' '
    return { start, end: this.at, text: isWhole ? flush(this.#text) : shallow(this.#text) }
  }

  /** Writes what remains of a token, and returns the index after it. */
  #pass({ 0: token, 1: slash, 2: name, index }: RegExpExecArray): number {
    const end = index + token.length
    if (token === '<') {
      this.#add(PLAIN_AFTER.test(this.#source.charAt(end)) ? '<' : '&lt;')
      return end
    }
    const tag = name?.toLowerCase()
    if (tag !== undefined && !WITHIN_TEXT.has(tag)) this.#isWordEnd = true
    return tag !== undefined && slash === '' && HIDDEN.includes(tag) ? this.#endOf(tag, end) : end
  }

  /** After the end tag, in this node or a later one; without one, where the block ends. */
  #endOf(tag: string, from: number): number {
    const endTag = new RegExp(`</${tag}(?=[\\s/>])[^>]*>?`, 'gi')
    for (const { start, end } of this.#found) {
      if (end <= from) continue
      endTag.lastIndex = Math.max(start, from)
      const match = endTag.exec(this.#source.slice(0, end))
      if (match !== null) return match.index + match[0].length
    }
    return this.#html.blockEnd
  }

  #add(text: string): void {
    if (text === '') return
    if (this.#isWordEnd && this.#endsWord() && isWordAt(text, 0)) this.#text += ' '
    this.#isWordEnd = false
    this.#text += text
  }

  #endsWord(): boolean {
    return this.#text === '' ? this.#isAfterWord : isWordAt(this.#text, this.#text.length - 1)
  }
}

function isWordAt(text: string, index: number): boolean {
  return /\S/.test(text.charAt(index))
}

/** Removes the indentation of HTML, which Markdown would render as code. */
function flush(text: string): string {
  return text.replace(/^[ \t]+/gm, '').trim()
}

/** Reduces the indentation within a list or a quote, and keeps the markers of these. */
function shallow(text: string): string {
  return text.replace(/(^|\n)((?: {0,3}>)*)(?:[ \t]{4,}|\t)/g, '$1$2   ')
}
