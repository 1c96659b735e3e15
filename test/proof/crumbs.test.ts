/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import type { HostName } from '../support/apps/hosts.js'
import { postInChunks, postInFrames } from '../support/crumbs.js'
import { orderCreated, sign } from '../support/deliveries.js'
import { useHosts } from '../support/host-processes.js'
import { jsonHeaders, orderOf } from '../support/raw-bytes-harness.js'

/** To keep an object for each of these bytes takes over 22 MB, and the frameworks themselves take 10 to 18. */
const HEAP_MB = 24
const BYTES = 131_072

const { start } = useHosts([`--max-old-space-size=${HEAP_MB}`])

const HOSTS: readonly (readonly [HostName, 'chunks' | 'frames' | 'frames of a declared length'])[] = [
  ['Express 5', 'chunks'],
  ['Fastify 5', 'chunks'],
  ['node:http', 'chunks'],
  ['Hono', 'chunks'],
  ['fetch', 'chunks'],
  ['node:http2', 'frames'],
  ['fetch on HTTP/2', 'frames'],
  // The length decides how Hono's server reads it.
  ['Hono on HTTP/2', 'frames of a declared length'],
]

describe(`a process with ${HEAP_MB} MB of heap outlives a forgery of ${BYTES} bytes, each sent by itself`, () => {
  test.each(HOSTS)('%s, in %s', async (name, how) => {
    const send = how === 'chunks' ? postInChunks : postInFrames
    const extra = how === 'frames of a declared length' ? { 'content-length': String(BYTES) } : {}
    const host = await start(name)
    const forged = await sign(orderOf(BYTES), { secret: 'another' })
    const headers = { ...jsonHeaders(forged.header), ...extra }
    const answer = await send(host.port, headers, forged.body).catch(String)
    expect([answer, host.death]).toEqual(['{"outcome":"unauthenticated"}', undefined])
    const genuine = await sign(orderCreated())
    expect(await send(host.port, jsonHeaders(genuine.header), genuine.body)).toBe('{"outcome":"handled"}')
  })
})
