import type { LookupAddress } from 'node:dns'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listen } from '../../../../test/support/http.js'
import { classOf } from '../../../engine/network/address-classes.js'
import { checkDestination } from '../../../engine/network/address-rules.js'
import { type HttpSenderOptions, httpSender } from '../../../engine/network/http-sender.js'

/** Some of them in IPv6 that stands for IPv4: mapped, translated, NAT64, 6to4. */
const ADDRESSES = {
  local: `127.0.0.1 127.255.255.254 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 100.127.255.255
    ::1 fc00::1 fd12:3456:789a::1
    ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.1.2.3 64:ff9b::192.168.0.1 2002:0a01:0203::1`,
  public: `8.8.8.8 1.1.1.1 172.15.255.255 172.32.0.1 192.167.255.255 100.63.255.255 100.128.0.1 198.18.0.1
    2606:4700:4700::1111 2a00:1450:4001::1 ::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::1`,
  forbidden: `169.254.169.254 169.254.0.1 0.0.0.0 0.1.2.3 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
    192.0.0.192 100.100.100.200 168.63.129.16
    :: fe80::1 fe80::1%eth0 febf::1 fec0::1 ff02::1 fd00:ec2::254 fd20:ce::254 2001::1
    ::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::169.254.169.254 ::ffff:0:169.254.169.254 64:ff9b::169.254.169.254
    64:ff9b:1::a9fe:a9fe 2002:a9fe:a9fe::1 ::ffff:0.0.0.0 no-address`,
}

test.each(
  Object.entries(ADDRESSES).flatMap(([kind, list]) => list.split(/\s+/).map((address) => [address, kind])),
)('[N133] [N134] [N135] [N137] the address %s is %s', (address, kind) => {
  expect(classOf(address)).toBe(kind)
})

test.each([
  ['http://0xa9.0xfe.0xa9fe/', /169\.254\.169\.254 is link-local/],
  ['http://2852039166/', /169\.254\.169\.254 is link-local/],
  ['http://0/', /0\.0\.0\.0 is link-local, multicast, unspecified/],
  ['http://0x08080808/', /8\.8\.8\.8 is a public address/],
  ['ftp://localhost/', /^Webhooks are sent over http and https only, not over ftp:\/\/\.$/],
  ['file:///etc/passwd', /^Webhooks are sent over http and https only/],
  ['http://me:secret@localhost/', /^The URL has a name or a password in it, which would be shown in logs/],
  ['http://me@localhost/', /^The URL has a name or a password in it/],
  ['localhost:3000', /^Webhooks are sent over http and https only, not over localhost:\/\/\.$/],
  ['/hooks', /^That is not a URL: give the whole address/],
  ['http://', /^That is not a URL/],
])('[N135] [N137] the URL %s is refused, and its password not shown', (url, message) => {
  const check = () => checkDestination(url)
  expect(check).toThrow(message)
  expect(check).toThrow(expect.objectContaining({ code: 'address_refused' }))
  expect(check).toThrow(expect.not.objectContaining({ message: expect.stringContaining('secret') }))
})

/** A receiver, and how often it was called. */
async function receiver() {
  const calls: string[] = []
  const server = await listen((request, response) => {
    calls.push(request.url ?? '')
    response.end()
  })
  onTestFinished(() => server.close())
  return { calls, port: server.port }
}

const resolving =
  (...addresses: readonly string[]): NonNullable<HttpSenderOptions['lookup']> =>
  (_host, _options, callback) =>
    callback(
      null,
      addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })),
    )

const request = { headers: {}, body: Buffer.from('{}'), timeoutMs: 2000 }
const REFUSED = { error: { code: 'address_refused' } }

describe('a name', () => {
  test.each([
    ['[N134] a public', '93.184.216.34', false, 'is a public address, and nothing leaves this machine'],
    ['a link-local', '169.254.169.254', false, 'is link-local'],
    ['a link-local, though public ones are allowed', '169.254.169.254', true, 'is link-local'],
  ])('with %s address is refused', async (_, address, allowPublic, why) => {
    const send = httpSender({ allowPublic, lookup: resolving(address) })
    const message = expect.stringContaining(`receiver.test is at ${address}, which ${why}`)
    const refused = { error: { code: 'address_refused', message } }
    expect(await send({ ...request, url: 'http://receiver.test/' })).toEqual(refused)
  })

  test.each([
    [['127.0.0.1', '8.8.8.8']],
    [['8.8.8.8', '127.0.0.1']],
    [['127.0.0.1', '::ffff:169.254.169.254']],
    [['::1', '127.0.0.1', 'fe80::1']],
  ])('[N136] with several addresses is refused if one of them is: %j', async (addresses) => {
    const { calls, port } = await receiver()
    const send = httpSender({ lookup: resolving(...addresses) })
    expect(await send({ ...request, url: `http://receiver.test:${port}/` })).toMatchObject(REFUSED)
    expect(calls).toEqual([])
  })

  test('[N133] [N136] is looked up once for each delivery, which goes to the address that was checked', async () => {
    const { calls, port } = await receiver()
    const places = ['127.0.0.1', '169.254.169.254', '8.8.8.8']
    const send = httpSender({
      lookup: (host, options, callback) => resolving(places.shift() ?? '')(host, options, callback),
    })
    const url = `http://receiver.test:${port}/hooks`
    const codes = []
    for (let count = 0; count < 3; count++) codes.push((await send({ ...request, url })).error?.code)
    expect(codes).toEqual([undefined, 'address_refused', 'address_refused'])
    expect(calls).toEqual(['/hooks'])
  })
})

test.each([
  'http://8.8.8.8/',
  'http://[2606:4700:4700::1111]/',
  'http://169.254.169.254/latest/meta-data',
  'http://[::ffff:a9fe:a9fe]/',
])('the sender refuses the literal address %s, which is never looked up', async (url) => {
  const lookup = () => {
    throw new Error('It was looked up.')
  }
  expect(await httpSender({ lookup })({ ...request, url })).toMatchObject(REFUSED)
})
