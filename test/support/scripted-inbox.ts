import type { Inbox, OnceRequest, OnceResult, WebhookOptions } from 'tix-webhooks'
import { never } from './promises.js'
import { type Receiving, receiving } from './receiving.js'

export type Work<Tx = unknown> = (tx: Tx) => Promise<void>

/** How one call of the work that an inbox was given has ended so far. */
type WorkEnd = 'open' | 'resolved' | { readonly rejected: unknown }

/** What an inbox answers: a value or a promise of any shape, or it throws, as a stranger's may. */
export type OnceScript = (request: OnceRequest, work: Work) => unknown

/** An inbox that does what a test tells it to, however wrong: what no real inbox does on command. */
export function scriptedInbox(once: OnceScript) {
  const requests: OnceRequest[] = []
  const ends: WorkEnd[] = []
  const inbox = {
    once(request: OnceRequest, work: Work) {
      requests.push(request)
      return once(request, (tx) => {
        const at = ends.push('open') - 1
        const working = work(tx)
        working.then(
          () => {
            ends[at] = 'resolved'
          },
          (rejected: unknown) => {
            ends[at] = { rejected }
          },
        )
        return working
      })
    },
  } as Inbox<unknown>
  return { inbox, requests, ends }
}

/** Does the work and then says this, whatever the work came to. */
export function saying(result: unknown, tx: unknown = undefined): OnceScript {
  return async (_, work) => {
    await work(tx).catch(() => {})
    return result
  }
}

/** Does the work and then fails with this, whatever the work came to: a COMMIT that fails, a connection that is gone. */
export function failingWith(error: unknown, tx: unknown = undefined): OnceScript {
  return async (_, work) => {
    await work(tx).catch(() => {})
    throw error
  }
}

/** Does the work and then hangs: the connection is gone, and nobody says so. */
export const hangingAfterWork: OnceScript = async (_, work) => {
  await work(undefined).catch(() => {})
  return never<OnceResult>()
}

/** A receiver with this inbox and no framework, and all that it tells. */
export function receivingWith<Tx>(
  inbox: Inbox<Tx>,
  options: Partial<WebhookOptions<unknown, Tx>> = {},
): Receiving {
  return receiving({ inbox, namespace: 'test', ...options } as unknown as Partial<WebhookOptions>)
}
