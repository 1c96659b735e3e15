import { micromark } from 'micromark'

/** Markdown as HTML: raw HTML in it is text, and a link or an image leads nowhere but to a page, a mailbox or a picture. */
export function markdownHtml(markdown: string): string {
  // Both are off by default: said here, because the safety of the public page depends on them.
  return micromark(markdown, { allowDangerousHtml: false, allowDangerousProtocol: false })
}
