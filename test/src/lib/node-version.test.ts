import { ConfigurationError, createReceiver } from 'tix-webhooks'
import { sampleEvent } from 'tix-webhooks/testing'
import { afterEach, expect, test, vi } from 'vitest'
import { checkNodeVersion, OLDEST_NODE } from '../../../src/lib/node-version.js'
import { readPage } from '../../support/pages.js'

afterEach(() => void vi.unstubAllGlobals())

test.each(['14.21.3', '18.20.8', '20.10.0', '20.18.3'])(
  'Node %s is refused by its name when a receiver or a sample is made',
  (node) => {
    vi.stubGlobal('process', { versions: { node } })
    const make = () => createReceiver({ secret: 's', on: {}, onUnhandled: () => {} })
    for (const call of [make, () => sampleEvent('order.created')]) {
      expect(call).toThrow(ConfigurationError)
      expect(call).toThrow(`tix-webhooks needs Node 20.19 or newer, and this is Node ${node}.`)
    }
  },
)

test.each<[string, object | undefined]>([
  ['Node 20.19', { versions: { node: '20.19.0' } }],
  ['Node 21', { versions: { node: '21.0.0' } }],
  ['Node 22', { versions: { node: '22.0.0' } }],
  ['Bun', { versions: { node: '18.0.0', bun: '1.0.0' } }],
  ['Deno', { versions: { node: '18.0.0', deno: '2.0.0' } }],
  ['Electron', { versions: { node: '20.11.0', electron: '30.0.0' } }],
  ['a Worker with a process', { versions: {} }],
  ['one whose Node has no version', { versions: { node: '' } }],
  ['an edge runtime', { env: {} }],
  ['a browser', undefined],
])('%s is not', (_, process) => {
  vi.stubGlobal('process', process)
  expect(checkNodeVersion).not.toThrow()
})

test('the oldest Node is that of both packages and of the README', () => {
  const oldest = OLDEST_NODE.join('.')
  for (const file of ['package.json', 'sandbox/package.json']) {
    expect(JSON.parse(readPage(file)).engines).toEqual({ node: `>=${oldest}` })
  }
  expect(readPage('README.md')).toContain(`You need Node ${oldest} or newer.`)
})
