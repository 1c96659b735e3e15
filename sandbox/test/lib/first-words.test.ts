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
  ['x'.repeat(121), `${'x'.repeat(119)}…`],
  ['🎫'.repeat(121), `${'🎫'.repeat(119)}…`],
])('of the answer %j are %j', (body, words) => {
  expect(firstWords({ headers: {}, body })).toBe(words)
})

test('are read from a page by its content type, and within bounds', () => {
  const headers = { 'content-type': 'text/html; charset=utf-8' }
  expect(firstWords({ headers, body: 'no <b>db</b>' })).toBe('no db')
  expect(firstWords({ headers: {}, body: `{"message":"${'['.repeat(1e6)}` })).toHaveLength(120)
  expect(firstWords({ headers, body: '<script '.repeat(1e5) })).toBeDefined()
  expect(firstWords({ headers: {}, body: '['.repeat(8000) + ']'.repeat(8000) })).toHaveLength(120)
})
