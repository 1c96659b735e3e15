import MarkdownIt from 'markdown-it'

// The safety of the public page depends on `html`, which this preset would allow.
const renderer = new MarkdownIt('commonmark', { html: false })

/** Markdown as HTML: raw HTML in it is text, and so is a link to a program. */
export function markdownHtml(markdown: string): string {
  return renderer.render(markdown)
}
