import { expect, test } from 'vitest'
import { firstWords } from '../../lib/first-words.js'

const EXPRESS = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Error</title>
</head>
<body>
<pre>Error: connect ECONNREFUSED db:5432<br> &nbsp; &nbsp;at TCPConnectWrap (node:net:1)</pre>
</body>
</html>
`

test.each([
  ['', undefined],
  [' \n\t', undefined],
  ['ECONNREFUSED db:5432\n    at connect', 'ECONNREFUSED db:5432'],
  ['\n\n  second   line first ', 'second line first'],
  ['{"outcome":"failed"}', undefined],
  ['{"outcome":"in_flight"}', 'in_flight'],
  ['{"error":"db down"}', 'db down'],
  ['{"statusCode":500,"error":"Internal Server Error","message":"db down"}', 'db down'],
  ['{"error":{"code":"x","message":"db down"}}', 'db down'],
  ['{"errors":[{"detail":"db down"}]}', 'db down'],
  ['"db down"', 'db down'],
  ['{"ok":false}', '{"ok":false}'],
  ['{"message":"","error":"db down"}', 'db down'],
  [EXPRESS, 'Error: connect ECONNREFUSED db:5432'],
  ['<html><head><style>h1{}</style></head><h1>502 Bad Gateway</h1><hr>nginx', '502 Bad Gateway'],
  ['<p>a &lt;b&gt; &amp;amp;</p>', 'a <b> &amp;'],
  ['{\n  "received": true\n}', '{"received":true}'],
  [`{\n"message":"db down","stack":"${'x'.repeat(70_000)}`, 'db down'],
  ['{"error":{"issues":[{"code":"x","message":"Expected string"}]}}', 'Expected string'],
  ['{"detail":[{"loc":["body"],"msg":"Field required"}]}', 'Field required'],
  ['{"message":"","errors":{"email":["The email is taken."]}}', 'The email is taken.'],
  [
    '<!-- <p>a</p> --><style>p{}</style><h1>500</h1><h2>Internal Server Error.</h2>',
    'Internal Server Error.',
  ],
  [`<html><head><style>${'p{}'.repeat(9000)}</style></head><h1>Routing Error</h1>`, 'Routing Error'],
  ['<h1>KeyError\n at /hooks</h1>', 'KeyError at /hooks'],
  ['<p>can&#x27;t &mdash; &#34;it&#8217;s&#34;</p>', 'can\'t — "it’s"'],
  ['<title>Bad gateway</title>', 'Bad gateway'],
  ['\u001f\ufffd\b\0', undefined],
  ['x'.repeat(121), `${'x'.repeat(119)}…`],
  ['🎫'.repeat(121), `${'🎫'.repeat(119)}…`],
])('of the answer %j are %j', (body, words) => {
  expect(firstWords({ headers: {}, body })).toBe(words)
})

test('are read from a page by its content type, and within bounds', () => {
  const headers = { 'content-type': 'text/html; charset=utf-8' }
  expect(firstWords({ headers, body: 'no <b>db</b>' })).toBe('no db')
  expect(firstWords({ headers: {}, body: `{"message":"${'['.repeat(1e6)}` })).toHaveLength(120)
  expect(firstWords({ headers, body: '<script '.repeat(1e5) })).toBeUndefined()
  expect(firstWords({ headers: {}, body: '['.repeat(32_000) + ']'.repeat(32_000) })).toHaveLength(120)
})
