import fc from 'fast-check'
import MarkdownIt from 'markdown-it'
import { expect, test } from 'vitest'
import { runs } from '../../../../test/support/runs.js'
import { sanitizeMarkdown } from '../../../domain/text/sanitize-markdown.js'

test.each([
  '',
  '# Title\n\n- one\n- two\n\n> quote\n\n1. first',
  'I <3 NY, and 1 < 2 > 0',
  '[site](https://example.com "title") and ![poster](/poster.jpg)',
  '[mail](mailto:me@example.com) [call](tel:+351123) [page](#top) [up](../a:b) [other](//example.com)',
  '[a](/path:with/colon) [b](?a:b&c) [c](#a:b) [d](HTTP://example.com) [e]()',
  String.raw`[T](tickets&more) [a](a&b/c) [b](&) [c](a\_b) [d](a\*b\~c) [e](<a b>)`,
  '[a]: <https://example.com/a b> "t"',
  '`<b>` and\n\n    <script>\n\n```html\n<b onclick="x">javascript:alert(1)</b>\n```',
  String.raw`\<b> &lt;b&gt; \[x](javascript:alert)`,
  'Windows\r\nlines\r\n',
])(
  '[S14] [S64] [N43] Markdown without HTML and without a target that runs stays as it is: %j',
  (markdown) => {
    expect(sanitizeMarkdown(markdown)).toBe(markdown)
  },
)

test.each([
  // No HTML.
  ['a <b>bold</b> word', 'a bold word'],
  ['before\n\n<div class="x">\ninside\n</div>\n\nafter', 'before\n\n\ninside\n\n\nafter'],
  ['<<b>script>alert(1)<</b>/script>', ''],
  // The text stays.
  ['<ul>\n  <li>One</li>\n      <li>Two</li>\n</ul>', '\nOne\nTwo\n'],
  ['<a title="a > b" href=x>Tickets</a>', 'Tickets'],
  ['<p>Rock &amp; Roll, 1 < 2, &lt;b&gt;</p>', 'Rock &amp; Roll, 1 &lt; 2, &lt;b&gt;'],
  // Begun, and never ended: written as text.
  ['<!-- Doors open\n\nAll welcome', '&lt;!-- Doors open\n\nAll welcome'],
  // Not text.
  ['<div><!-- a <b>note</b> --> Doors open</div>', 'Doors open'],
  // Links that are their own text.
  ['<geo:38.7,-9.1> <https://example.com>', 'geo:38.7,-9.1 <https://example.com>'],
  // HTML that a removal joins is removed too.
  ['<scr<script>ipt>alert(1)</scr</script>ipt> Doors open', 'Doors open'],
  // No target that runs.
  ['[a](<javascript:alert(1) x> "t")', '[a](# "t")'],
  ['[a](&#x6A;avascript:alert)', '[a](#)'],
  [String.raw`[a](javascript\:alert)`, '[a](#)'],
  ['[a][x]\n\n[x]: javascript:alert "t"', '[a][x]\n\n[x]: # "t"'],
  ['[a](a&colon;b) [b](a&colon;b/c) [c](a&#58b) [d](a&#x3ab)', '[a](#) [b](#) [c](#) [d](#)'],
  [String.raw`[a](a\\_b) [b](java\_script:x) [c](a\&colon;b) [d](a&\#58;b)`, '[a](#) [b](#) [c](#) [d](#)'],
  // Other readers find no definition in these, and so HTML.
  ['[a]: \u00a0<script>alert(1)</script>', '[a]: #'],
  ['[a]: <x\u2028> "<script>"', '[a]: # "<script>"'],
  ['[a]:<script>\t', '[a]:#\t'],
  ['[a](b<script>)', '[a](#)'],
  ['[[a](javascript:x)](javascript:y)', '[[a](#)](javascript:y)'],
])('[N43] sanitized, %j is %j', (markdown, sanitized) => {
  expect(sanitizeMarkdown(markdown)).toBe(sanitized)
})

/** Pieces of which HTML, links, code and their edges are made. */
const pieces = fc.constantFrom(
  ...'< > </ /> <b> </b> <script> <!-- --> <? ?> <![CDATA[ ]]> b a'.split(' '),
  ...'[ ] ]( ) ![ ](javascript: ](data:x [a]: <javascript: javascript: :'.split(' '),
  ...'` * _ \\ &lt; &#58; &#10; " \' = é'.split(' '),
  ...['<div>\n', '[a]: javascript:b', '```\n', '    ', '\t', '\n', '\n\n'],
  ...['> ', '- ', '1. ', '# ', ' ', '\r', '\0'],
)
const hostile = fc.oneof(
  fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join('')),
  fc.string({ unit: 'grapheme', maxLength: 80 }),
)

/** Another reader of Markdown than that of the sanitizer, which takes raw HTML and any link. */
const reader = new MarkdownIt('commonmark', { html: true })
reader.validateLink = () => true
reader.normalizeLink = (url) => url

/** The raw HTML and the targets that run, as another reader finds them. */
function faultsIn(markdown: string): string[] {
  const tokens = reader.parse(markdown, {}).flatMap((token) => [token, ...(token.children ?? [])])
  return tokens.flatMap(({ type, content, attrs }) => {
    const targets = (attrs ?? [])
      .filter(([name]) => name === 'href' || name === 'src')
      .map(([, url]) => String(url))
    return [
      ...(type.startsWith('html_') ? [content] : []),
      ...targets.filter((url) => /^\s*(javascript|data|vbscript):/i.test(url)),
    ]
  })
}

test('[N43] sanitized Markdown has no node of HTML and no target that runs, and sanitizing it again does not change it', {
  tags: ['slow'],
}, () => {
  fc.assert(
    fc.property(hostile, (markdown) => {
      const sanitized = sanitizeMarkdown(markdown)
      expect(faultsIn(sanitized)).toEqual([])
      expect(sanitizeMarkdown(sanitized)).toBe(sanitized)
    }),
    { numRuns: runs(200) },
  )
})

const tag = fc.constantFrom(...'p div li td h1 pre section b a span em textarea title x-y svg'.split(' '))
const markup = fc.oneof(
  tag.map((name) => `<${name}>`),
  tag.map((name) => `</${name}>`),
  tag.map((name) => `<${name} class="a > b" id='c' hidden>`),
  fc.constantFrom('<br>', '<hr/>', '<!-- no -->', '<?no?>', '<script>no</script>', '<style>\nno\n</style>'),
  fc.constantFrom(' ', '\n', '\n\n', '> ', '- ', '*', '_'),
)

test('[N43] the words between tags stay in their order, without hidden elements', {
  tags: ['slow'],
}, () => {
  fc.assert(
    fc.property(fc.array(markup, { maxLength: 30 }), (marks) => {
      const words = marks.map((_, index) => `word${index}.`)
      const sanitized = sanitizeMarkdown(marks.map((mark, index) => `${mark}word${index}.`).join(''))
      expect(sanitized.match(/word\d+\./g) ?? []).toEqual(words)
      expect(sanitized).not.toContain('no')
    }),
    { numRuns: runs(120) },
  )
})

test('[N43] a text without <, & and : stays as it is', { tags: ['slow'] }, () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      const plain = text.replace(/[<:&]/g, '')
      expect(sanitizeMarkdown(plain)).toBe(plain)
    }),
  )
})
