import { describe, expect, test } from 'vitest'
import { createGuard } from '../../../http/protection/guard.js'

const guardAt = (url: string, allowHosts?: string[]) => createGuard({ url: () => url, allowHosts })
const asking = (
  host: string | null,
  headers: Record<string, string> = {},
  url = 'http://127.0.0.1:4010/v2',
) => new Request(url, { headers: { ...(host !== null && { host }), ...headers } })
const refused = expect.objectContaining({ code: 'host_refused' })
const foreign = expect.objectContaining({ code: 'origin_refused' })

describe('the host', () => {
  const guard = guardAt('http://127.0.0.1:4010', ['sandbox.test', 'ci.internal:9000'])

  test.each([
    null,
    '127.0.0.1:4010',
    'localhost:4010',
    '[::1]:4010',
    '127.9.9.9:4010',
    'hooks.localhost:4010',
    'sandbox.test',
    'ci.internal:9000',
  ])('[N138] may be %j', (host) => {
    expect(() => guard.checkHost(asking(host))).not.toThrow()
  })

  test.each([
    'evil.example:4010',
    'localhost',
    'localhost:4011',
    '127.0.0.1.evil.example:4010',
    '.localhost:4010',
    '10.0.0.1:4010',
    '[::2]:4010',
    'ci.internal',
    'localhost:4010@evil.example',
    ' ',
    '',
  ])('[N138] must not be %j', (host) => {
    expect(() => guard.checkHost(asking(host))).toThrow(refused)
  })

  test('[N138] is checked in the address too, which a proxy would follow', () => {
    expect(() => guard.checkHost(asking('127.0.0.1:4010', {}, 'http://evil.example/v2'))).toThrow(refused)
  })

  test('of a request in this process is that of its address', () => {
    const inProcess = guardAt('http://sandbox.localhost')
    expect(() => inProcess.checkHost(new Request('http://sandbox.localhost/v2'))).not.toThrow()
    expect(() => inProcess.checkHost(new Request('http://localhost/v2'))).not.toThrow()
    expect(() => inProcess.checkHost(new Request('http://evil.example/v2'))).toThrow(refused)
  })
})

describe('the origin', () => {
  const guard = guardAt('http://127.0.0.1:4010')

  test.each([undefined, 'http://127.0.0.1:4010'])('[N139] may be %j', (origin) => {
    const headers = origin === undefined ? {} : { origin }
    expect(() => guard.checkOrigin(asking('127.0.0.1:4010', headers))).not.toThrow()
    expect(() => guard.checkOrigin(asking(null, headers))).not.toThrow()
  })

  test.each([
    'http://evil.example',
    'null',
    '',
    'http://127.0.0.1:3000',
    'http://localhost:4010',
    'nonsense',
  ])('[N139] must not be %j', (origin) => {
    expect(() => guard.checkOrigin(asking('127.0.0.1:4010', { origin }))).toThrow(foreign)
  })
})
