/** @module-tag slow */
import { readdirSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { ROOT } from '../../../test/support/root.js'
import { nodesOf } from '../../../test/support/source.js'
import { buildPage } from '../../build/page.js'
import { httpSandbox } from '../support/http-sandbox.js'

/** Raised on purpose only. */
const MAX_BYTES = 25_000

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

describe('the page', () => {
  test.each([
    ['/', 'text/html; charset=utf-8', '<!doctype html>'],
    ['/_sandbox/page.js', 'text/javascript; charset=utf-8', 'EventSource'],
    ['/_sandbox/page.css', 'text/css; charset=utf-8', 'prefers-color-scheme'],
  ])('is served under a policy that lets nothing else in: %s', async (path, type, contains) => {
    const sandbox = httpSandbox()
    const answer = await sandbox.call('GET', path, { key: null })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type])
    expect(answer.headers.get('content-security-policy')).toBe(POLICY)
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.text).toContain(contains)

    const etag = String(answer.headers.get('etag'))
    const again = await sandbox.call('GET', path, { key: null, headers: { 'if-none-match': etag } })
    expect([again.status, again.text]).toEqual([304, ''])
  })

  test('has a script and a style that are no larger than they have to be', async () => {
    const { script, style } = await buildPage()
    expect(gzipSync(script).length + gzipSync(style).length).toBeLessThanOrEqual(MAX_BYTES)
  })

  test('makes no markup of text', () => {
    const files = readdirSync(`${ROOT}sandbox/page`, { recursive: true, encoding: 'utf8' })
    const sources = files.filter((file) => /\.tsx?$/.test(file)).map((file) => `sandbox/page/${file}`)
    expect(sources.length).toBeGreaterThan(30)
    const unsafe = /^(innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|eval)$/
    const found = sources.filter((file) =>
      [...nodesOf(file)].some((node) => ts.isIdentifier(node) && unsafe.test(node.text)),
    )
    expect(found).toEqual([])
  })
})
