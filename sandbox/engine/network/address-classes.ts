import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** The class of an address: this machine or network, the public Internet, or one to which no webhook is ever sent. */
export type AddressClass = 'local' | 'public' | 'forbidden'

const LOCAL = listOf(
  // Loopback, the private networks, carrier-grade NAT (as container networks use it), and unique local addresses.
  '127.0.0.0/8',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '::1/128',
  'fc00::/7',
)

const FORBIDDEN = listOf(
  // "This network", link-local with the metadata of most clouds, multicast, reserved, broadcast.
  '0.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
  // The metadata of other clouds: Oracle, Alibaba, Azure, AWS and Google over IPv6.
  '192.0.0.0/24',
  '100.100.100.200/32',
  '168.63.129.16/32',
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  // Teredo: an IPv4 address is hidden in it.
  '2001::/32',
)

/** How IPv6 addresses that stand for IPv4 ones begin, and at which of their eight groups the IPv4 address is. */
const EMBEDDING: readonly (readonly [BlockList, number])[] = [
  [listOf('::ffff:0:0/96', '::/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48'), 6],
  [listOf('2002::/16'), 1],
]

/** @param address an IP address, without brackets */
export function classOf(address: string): AddressClass {
  const [plain = ''] = address.split('%')
  const family = isIPv4(plain) ? 'ipv4' : isIPv6(plain) ? 'ipv6' : undefined
  if (family === undefined || FORBIDDEN.check(plain, family)) return 'forbidden'
  if (LOCAL.check(plain, family)) return 'local'
  const embedded = family === 'ipv6' ? embeddedIPv4(plain) : undefined
  return embedded === undefined ? 'public' : classOf(embedded)
}

function embeddedIPv4(address: string): string | undefined {
  const at = EMBEDDING.find(([list]) => list.check(address, 'ipv6'))?.[1]
  if (at === undefined) return undefined
  const groups = groupsOf(address)
  return [groups[at] ?? 0, groups[at + 1] ?? 0].flatMap((group) => [group >> 8, group & 0xff]).join('.')
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): readonly number[] {
  // The URL parser writes every form of it in groups alone.
  const normal = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [before = [], after = []] = normal
    .split('::')
    .map((half) => (half === '' ? [] : half.split(':').map((group) => Number.parseInt(group, 16))))
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0)
  return [...before, ...zeros, ...after]
}

function listOf(...subnets: readonly string[]): BlockList {
  const list = new BlockList()
  for (const subnet of subnets) {
    const [address = '', bits] = subnet.split('/')
    list.addSubnet(address, Number(bits), isIPv4(address) ? 'ipv4' : 'ipv6')
  }
  return list
}
