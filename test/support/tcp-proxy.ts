import { connect, createServer, type Socket } from 'node:net'
import { freePort } from './free-port.js'

/** A proxy between a client and a server that imitates network faults. */
export interface TcpProxy {
  readonly port: number
  /** The number of connections accepted so far. */
  readonly connections: number
  /** How often a client started to send, at first or after the server had: everything it sends before a reply counts once. */
  readonly roundTrips: number
  /** The most connections that waited for a reply at the same time, since the start or `resetMostBusy`. */
  readonly mostBusy: number
  resetMostBusy(): void
  /** Passes everything, as at the start: held bytes are sent; a connection that lost bytes in a black hole is cut. */
  pass(): Promise<void>
  /** Cuts all connections, and refuses new ones until `pass`. */
  refuse(): Promise<void>
  /** Holds back all bytes of both sides, and their closing, until `flush` or `pass`. */
  hold(): void
  /** Sends the held bytes; everything passes from then on. */
  flush(): void
  /** Accepts everything and answers nothing, until `pass`. */
  blackHole(): void
  /** Cuts all connections; new ones are possible. */
  cut(): void
  /** New connections reach the server on that port; those that there are stay, as in a failover of a server that keeps them. */
  moveTo(port: number): void
  /** The connections that there are answer nothing from now on, and stay open; new ones pass. */
  silence(): void
  /**
   * Loses one request: the first matching chunk of a client is not passed on, and its connection is cut.
   *
   * @returns a promise that resolves when it has happened
   */
  cutBeforeRequest(match: (chunk: Buffer) => boolean): Promise<void>
  /**
   * Loses one reply: the first matching chunk of a client is passed on, the reply to it is not, and its connection is cut. The
   * server's next bytes count as the reply, so that connection must have no other request in progress.
   *
   * @returns a promise that resolves when it has happened
   */
  cutAfterRequest(match: (chunk: Buffer) => boolean): Promise<void>
  /**
   * Appends bytes to one reply, as from a server that shuts down while it answers: after the first matching chunk of a client, to
   * the first chunk of the server for which `isEnd` returns true. Both are sent in one piece, and then the connection ends.
   *
   * @returns a promise that resolves when it has happened
   */
  glueAfterRequest(
    match: (chunk: Buffer) => boolean,
    isEnd: (chunk: Buffer) => boolean,
    glued: Buffer,
  ): Promise<void>
  /** Resolves when a client sends a matching chunk, by default any, whether or not it is passed on. */
  nextRequest(match?: (chunk: Buffer) => boolean): Promise<void>
  /** Cuts all connections and stops listening. */
  close(): Promise<void>
}

interface Link {
  readonly client: Socket
  readonly server: Socket
  /** The bytes held back from either side, in order. */
  readonly held: (() => void)[]
  lastSpeaker: 'client' | 'server'
  hasLostBytes: boolean
  isSilent?: boolean
  /** If set, the server's next bytes are lost, and so is the link. */
  onReply?: () => void
  /** If set, transforms a chunk of the server. */
  glue?: (chunk: Buffer) => Buffer | undefined
}

/** Waits for a matching chunk of a client, and acts once. */
interface Trigger {
  match(chunk: Buffer): boolean
  act(link: Link): void
}

/** Starts a proxy on a free loopback port for a server that need not run yet. */
export async function startProxy({
  delayMs = 0,
  ...given
}: {
  readonly host?: string
  readonly port: number
  /** How much later the client gets what the server sends, in milliseconds: the time of a round trip. Default 0. */
  readonly delayMs?: number
}): Promise<TcpProxy> {
  let target = given
  let mode: 'pass' | 'hold' | 'black hole' = 'pass'
  let connections = 0
  let roundTrips = 0
  let mostBusy = 0
  const links = new Set<Link>()
  const triggers = new Set<Trigger>()

  function relay(link: Link, action: () => void): void {
    if (mode === 'pass' && !link.isSilent) action()
    else if (mode === 'hold') link.held.push(action)
    else link.hasLostBytes = true
  }

  /** In the order of the calls. */
  function delayed(action: () => void): void {
    if (delayMs === 0) action()
    else setTimeout(action, delayMs)
  }

  function onClientChunk(link: Link, chunk: Buffer): void {
    if (link.lastSpeaker === 'server') roundTrips++
    link.lastSpeaker = 'client'
    mostBusy = Math.max(mostBusy, [...links].filter(({ lastSpeaker }) => lastSpeaker === 'client').length)
    for (const trigger of triggers) {
      if (!trigger.match(chunk)) continue
      triggers.delete(trigger)
      trigger.act(link)
    }
    if (links.has(link)) relay(link, () => link.server.write(chunk))
  }

  function onServerChunk(link: Link, chunk: Buffer): void {
    link.lastSpeaker = 'server'
    const whole = link.glue?.(chunk)
    if (whole !== undefined) {
      link.client.end(whole)
      link.server.destroy()
    } else if (link.onReply === undefined) {
      delayed(() => relay(link, () => link.client.write(chunk)))
    } else {
      destroy(link)
      link.onReply()
    }
  }

  function destroy(link: Link): void {
    links.delete(link)
    link.client.destroy()
    link.server.destroy()
  }

  function cut(): void {
    for (const link of links) destroy(link)
  }

  function flush(): void {
    mode = 'pass'
    for (const { held } of links) for (const action of held.splice(0)) action()
  }

  const listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    connections++
    const server = connect({ host: '127.0.0.1', allowHalfOpen: true, noDelay: true, ...target })
    const link: Link = { client, server, held: [], lastSpeaker: 'server', hasLostBytes: false }
    links.add(link)
    client.on('data', (chunk) => onClientChunk(link, chunk))
    server.on('data', (chunk) => onServerChunk(link, chunk))
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      const pass = from === server ? delayed : (action: () => void) => action()
      from.on('end', () => pass(() => relay(link, () => to.end())))
      // An error is followed by 'close', and the other side learns of it only after the bytes sent before.
      from.on('error', () => {})
      from.on('close', () => {
        pass(() => relay(link, () => to.destroySoon()))
        if (client.destroyed && server.destroyed) links.delete(link)
      })
    }
  })

  const port = await freePort()

  function listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      listener.once('error', reject)
      listener.listen(port, '127.0.0.1', () => {
        listener.off('error', reject)
        resolve()
      })
    })
  }

  function stopListening(): Promise<void> {
    return new Promise((resolve) => {
      listener.close(() => resolve())
      cut()
    })
  }

  function once(match: Trigger['match'], act: (link: Link, resolve: () => void) => void): Promise<void> {
    return new Promise((resolve) => {
      triggers.add({ match, act: (link) => act(link, resolve) })
    })
  }

  await listen()
  return {
    port,
    get connections() {
      return connections
    },
    get roundTrips() {
      return roundTrips
    },
    get mostBusy() {
      return mostBusy
    },
    resetMostBusy() {
      mostBusy = 0
    },
    async pass() {
      for (const link of links) if (link.hasLostBytes) destroy(link)
      flush()
      if (!listener.listening) await listen()
    },
    refuse: stopListening,
    hold() {
      mode = 'hold'
    },
    flush,
    blackHole() {
      mode = 'black hole'
    },
    cut,
    moveTo(port) {
      target = { ...target, port }
    },
    silence() {
      for (const link of links) link.isSilent = true
    },
    cutBeforeRequest: (match) =>
      once(match, (link, resolve) => {
        destroy(link)
        resolve()
      }),
    cutAfterRequest: (match) =>
      once(match, (link, resolve) => {
        link.onReply = resolve
      }),
    glueAfterRequest: (match, isEnd, glued) =>
      once(match, (link, resolve) => {
        link.glue = (chunk) => {
          if (!isEnd(chunk)) return undefined
          resolve()
          return Buffer.concat([chunk, glued])
        }
      }),
    nextRequest: (match = () => true) => once(match, (_link, resolve) => resolve()),
    close: stopListening,
  }
}
