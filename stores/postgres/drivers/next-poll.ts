/**
 * Resolves when the event loop next reads its sockets, after it has closed those that were lost until now, and so after postgres.js has
 * learned of their loss. A statement that is written there is sent before the next sockets are closed. A timer would do too, but takes a
 * millisecond; an immediate is called just before sockets close. Elsewhere than on Node, whose loop has these phases, it is a timer.
 */
export function nextPoll(): Promise<void> {
  return new Promise((resolve) => {
    if (!hasPhases) {
      setTimeout(resolve, 0)
      return
    }
    channel ??= openChannel()
    const { port1, port2 } = channel
    // A message that is sent while messages are read is read at once.
    setImmediate(() => {
      if (waiting.push(resolve) === 1) port1.ref()
      port2.postMessage(0)
    })
  })
}

const { navigator } = globalThis as { navigator?: { userAgent?: string } }
/** Node 20 has no navigator, and whatever else runs packages of Node, or imitates a browser in it, has one of its own. */
const isNode = navigator === undefined || navigator.userAgent?.startsWith('Node.js') === true
const hasPhases = isNode && typeof setImmediate === 'function' && typeof MessageChannel === 'function'
const waiting: (() => void)[] = []
let channel: { readonly port1: NodePort; readonly port2: MessagePort } | undefined

function openChannel(): NonNullable<typeof channel> {
  const opened = new MessageChannel() as unknown as NonNullable<typeof channel>
  opened.port1.onmessage = () => {
    const resolve = waiting.shift()
    // An idle channel keeps no process alive.
    if (waiting.length === 0) opened.port1.unref()
    resolve?.()
  }
  return opened
}

/** Node's own channel, which can be made to keep no process alive. */
interface NodePort extends MessagePort {
  ref(): void
  unref(): void
}
