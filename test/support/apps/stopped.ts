import { once } from 'node:events'
import { Redis } from 'ioredis'
import { createReceiver } from 'tix-webhooks'
import { redisStore } from 'tix-webhooks/redis'
import { orderCreated, SECRET, sign } from '../deliveries.js'

/** The messages of the process to the test that stops it, in this order. */
export type StoppedMessage =
  | { readonly handling: string }
  /** Why the signal had aborted when the handler ended; null if it had not. */
  | { readonly aborted: string | null }
  | { readonly outcome: string; readonly reports: readonly string[] }

/** How long it may be stopped without losing its event to another process. */
export const LEASE_SECONDS = 0.5

const { url, prefix }: { url: string; prefix: string } = JSON.parse(String(process.argv[2]))
const send = (message: StoppedMessage): unknown => process.send?.(message)

/** Handles one event, until the test says so or the signal aborts. */
async function handleOne(): Promise<void> {
  const client = new Redis(url)
  const reports: string[] = []
  const receiver = createReceiver({
    secret: SECRET,
    store: redisStore(client, { prefix }),
    namespace: 'proof',
    leaseSeconds: LEASE_SECONDS,
    timeoutSeconds: 120,
    on: {
      'order.created': async (_event, { key, signal }) => {
        const ended = Promise.race([once(process, 'message'), once(signal, 'abort')])
        send({ handling: String(key) })
        await ended
        send({ aborted: signal.aborted ? String((signal.reason as Error).message) : null })
      },
    },
    onError: (error) => reports.push(String((error as Error).message)),
  })
  const { outcome } = await receiver.receive({ ...(await sign(orderCreated())), request: null })
  await receiver.drain()
  send({ outcome, reports })
  client.disconnect()
}

void handleOne().then(() => process.disconnect?.())
// The test is gone.
process.once('disconnect', () => process.exit())
