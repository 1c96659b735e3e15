/** @module-tag slow */
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { heldBeyond, usedMemory } from '../../../../test/support/memory.js'
import { receive } from '../../../cli/client/receiving-server.js'

const CHUNKS = 50_000
const PARTS = 4

test('a body in chunks of one byte takes not much more memory than its bytes', async () => {
  const lengths: number[] = []
  const server = await receive(0, async ({ body }) => {
    lengths.push(body.length)
    return { status: 204 }
  })
  onTestFinished(() => server.close())
  const { port } = new URL(server.url)
  const socket = connect(Number(port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const before = usedMemory()
  socket.write('POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n')
  const part = '1\r\nx\r\n'.repeat(CHUNKS / PARTS)
  for (let parts = 0; parts < PARTS; parts += 1) {
    await new Promise<void>((resolve) => socket.write(part, () => resolve()))
  }
  // Answered after what came before it was read.
  await fetch(server.url, { method: 'POST', body: 'x' })
  expect(await heldBeyond(before, 3_000_000)).toBeLessThan(3_000_000)
  socket.write('0\r\n\r\n')
  await expect.poll(() => lengths).toEqual([1, CHUNKS])
})
