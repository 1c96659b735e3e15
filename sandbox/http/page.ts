import { createHash } from 'node:crypto'
import type { App, RequestContext } from './context.js'
import { pageFiles } from './page-files.js'

const SCRIPT = '/_sandbox/page.js'
const STYLE = '/_sandbox/page.css'

/** The headers of the page and its files: everything is loaded from the sandbox, and no text that is shown can run as code. */
const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
  // With `no-referrer`, a browser would send the page's requests with the origin `null`.
  'referrer-policy': 'same-origin',
  'cache-control': 'no-cache',
} as const

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Cpath fill='%234f46e5' d='M4 8h24v6a3 3 0 0 0 0 6v4H4v-4a3 3 0 0 0 0-6z'/%3E%3Cpath stroke='%23fff' stroke-width='2.5' fill='none' d='m11 16 4 4 7-8'/%3E%3C/svg%3E"

const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Deliveries – tix-webhooks sandbox</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${STYLE}">
<script type="module" src="${SCRIPT}"></script>
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript. Without it: GET /_sandbox/deliveries, or npx tix-webhooks deliveries.</noscript>
</body>
</html>
`

interface Served {
  readonly body: string
  readonly etag: string
}

/** Adds the page for people: `GET /`, its script and its style. */
export function addPage(app: App): void {
  let files: Promise<{ script: Served; style: Served }> | undefined
  const load = async () => {
    const { script, style } = await pageFiles()
    return { script: served(script), style: served(style) }
  }
  const loaded = () => (files ??= load())
  const html = served(HTML)

  app.get('/', (c) => answer(c, html, 'text/html'))
  app.get(SCRIPT, async (c) => answer(c, (await loaded()).script, 'text/javascript'))
  app.get(STYLE, async (c) => answer(c, (await loaded()).style, 'text/css'))
}

function served(body: string): Served {
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }
}

function answer(c: RequestContext, { body, etag }: Served, type: string): Response {
  if (c.req.header('if-none-match') === etag) return c.body(null, 304, { ...HEADERS, etag })
  return c.body(body, 200, { ...HEADERS, etag, 'content-type': `${type}; charset=utf-8` })
}
