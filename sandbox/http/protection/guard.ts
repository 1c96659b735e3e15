import { HttpError } from '../errors.js'

/** Keeps foreign web pages away from the sandbox, which listens on the machine that shows them. */
export interface Guard {
  /** @throws HttpError if the request is addressed to another host: a foreign name can be made to lead here */
  checkHost(request: Request): void
  /** @throws HttpError if a page of another origin sent it */
  checkOrigin(request: Request): void
}

export interface GuardOptions {
  /** The base URL of the sandbox, such as `http://127.0.0.1:4010`. */
  url: () => string
  /** Further host names that it answers to: `name`, at any port, or `name:port`. */
  allowHosts?: readonly string[] | undefined
}

const LOOPBACK = /^(?:localhost|(?:[^.]+\.)+localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/** The characters of a Host header: no user, no path. */
const HOST = /^[\w.:[\]-]+$/

export function createGuard({ url, allowHosts = [] }: GuardOptions): Guard {
  const allowed = new Set(allowHosts.map((host) => host.toLowerCase()))

  const isOurs = (host: URL): boolean => {
    const own = new URL(url())
    if (host.host === own.host || allowed.has(host.host) || allowed.has(host.hostname)) return true
    return LOOPBACK.test(host.hostname) && host.port === own.port
  }

  return {
    checkHost(request) {
      const host = hostOf(request)
      if (host !== undefined && isOurs(host) && isOurs(new URL(request.url))) return
      throw new HttpError(
        'host_refused',
        `This sandbox does not answer to the host name ${JSON.stringify((request.headers.get('host') ?? new URL(request.url).host).slice(0, 100))}: ` +
          `use ${url()}, or allow the name (allowHosts, --allow-host).`,
      )
    },
    checkOrigin(request) {
      const origin = request.headers.get('origin')
      if (origin === null || originHost(origin) === hostOf(request)?.host) return
      throw new HttpError(
        'origin_refused',
        `A page of the origin ${JSON.stringify(origin.slice(0, 100))} sent this. Only the sandbox's own pages, and programs, may.`,
      )
    },
  }
}

/** A request in this process has no such header, but an address. */
function hostOf(request: Request): URL | undefined {
  const host = request.headers.get('host')
  if (host === null) return new URL(request.url)
  return HOST.test(host) ? parse(`http://${host}`) : undefined
}

function originHost(origin: string): string | undefined {
  return parse(origin)?.host
}

function parse(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined
}
