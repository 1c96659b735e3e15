import { lookup as dnsLookup, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { classOf } from './address-classes.js'
import { isPlainUrl, PLAIN_URL } from './plain-url.js'

export interface AddressRules {
  /** Whether deliveries may leave this machine and its networks. Default false. */
  allowPublic?: boolean
}

/** An address that nothing is sent to. */
export class AddressRefused extends TypeError {
  readonly code = 'address_refused'

  constructor(message: string) {
    super(message)
    this.name = 'AddressRefused'
  }
}

/**
 * Refuses what can be refused without asking the DNS: other schemes, a name and password in the URL, and addresses that
 * the rules do not allow.
 *
 * @throws AddressRefused
 */
export function checkDestination(url: string, rules: AddressRules = {}): void {
  if (!isPlainUrl(url)) throw new AddressRefused(`The URL ${PLAIN_URL}.`)
  if (!URL.canParse(url)) {
    throw new AddressRefused(
      'That is not a URL: give the whole address, such as http://localhost:3000/hooks.',
    )
  }
  const { protocol, username, password, hostname } = new URL(url)
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new AddressRefused(`Webhooks are sent over http and https only, not over ${protocol}//.`)
  }
  if (username !== '' || password !== '') {
    throw new AddressRefused(
      'The URL has a name or a password in it, which would be shown in logs: leave them out.',
    )
  }
  const host = hostname.replace(/^\[(.+)\]$/, '$1')
  if (isIP(host) !== 0) checkAddress(host, host, rules)
}

/** @throws AddressRefused */
function checkAddress(host: string, address: string, { allowPublic = false }: AddressRules): void {
  const addressClass = classOf(address)
  const where = host === address ? address : `${host} is at ${address}, which`
  if (addressClass === 'forbidden') {
    throw new AddressRefused(
      `${where} is link-local, multicast, unspecified or the metadata service of a cloud: nothing is ever sent there.`,
    )
  }
  if (addressClass === 'public' && !allowPublic) {
    throw new AddressRefused(
      `${where} is a public address, and nothing leaves this machine and its networks unless you allow it: start the sandbox with --allow-public (allowPublic: true).`,
    )
  }
}

type DnsLookup = (
  host: string,
  options: { all: true; family?: number; hints?: number },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/**
 * Resolves names for a connection, which is then made to the very address that was checked. If one of the addresses of a name is
 * refused, the name is: such a mix is probably an attack.
 */
export function checkedLookup(rules: AddressRules, lookup: DnsLookup = dnsLookup): LookupFunction {
  return (host, options, callback) => {
    const { family, hints } = options
    const asked = {
      all: true as const,
      ...(typeof family === 'number' && { family }),
      ...(hints !== undefined && { hints }),
    }
    lookup(host, asked, (error, addresses) => {
      const fault = error ?? faultOf(host, addresses, rules)
      const [first] = addresses ?? []
      if (fault !== undefined || first === undefined) {
        callback(fault ?? new AddressRefused(`${host} has no address.`), [])
      } else if (options.all) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}

function faultOf(
  host: string,
  addresses: readonly LookupAddress[],
  rules: AddressRules,
): AddressRefused | undefined {
  try {
    for (const { address } of addresses) checkAddress(host, address, rules)
    return undefined
  } catch (error) {
    return error as AddressRefused
  }
}
