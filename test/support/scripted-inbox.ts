import type { Inbox, OnceRequest, OnceResult, OnceRun, WebhookOptions } from 'tix-webhooks'
import { never } from './promises.js'
import { type Receiving, receiving } from './receiving.js'

export type Work<Tx = unknown> = (tx: Tx, run?: OnceRun) => Promise<void>

/** The end, so far, of one call of an inbox's work. */
type WorkEnd = 'open' | 'resolved' | { readonly rejected: unknown }

/** An inbox's answer: a value or a promise of any shape, or it throws, as a foreign one may. */
export type OnceScript = (request: OnceRequest, work: Work) => unknown

/** A scripted inbox, however wrong: for behaviour that no real inbox shows on command. */
export function scriptedInbox(once: OnceScript) {
  const requests: OnceRequest[] = []
  const ends: WorkEnd[] = []
  const inbox = {
    once(request: OnceRequest, work: Work) {
      requests.push(request)
      return once(request, (tx, run) => {
        const at = ends.push('open') - 1
        const working = work(tx, run)
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

/** Does the work and then says that it ended so, whatever the result of the work. */
export function saying(status: OnceResult['status'], tx: unknown = undefined): OnceScript {
  return returning({ status }, tx)
}

/** Does the work and then returns this, whatever the result of the work. */
export function returning(result: unknown, tx: unknown = undefined): OnceScript {
  return async (_, work) => {
    await work(tx).catch(() => {})
    return result
  }
}

/** Does the work and then fails with this, whatever the result of the work: a failed COMMIT, a lost connection. */
export function failingWith(error: unknown, tx: unknown = undefined): OnceScript {
  return async (_, work) => {
    await work(tx).catch(() => {})
    throw error
  }
}

/** Does the work and then hangs: the connection is lost without notice. */
export const hangingAfterWork: OnceScript = async (_, work) => {
  await work(undefined).catch(() => {})
  return never<OnceResult>()
}

/** A receiver with this inbox and without a framework, and everything it reports. */
export function receivingWith<Tx>(
  inbox: Inbox<Tx>,
  options: Partial<WebhookOptions<unknown, Tx>> = {},
): Receiving {
  return receiving({ inbox, namespace: 'test', ...options } as unknown as Partial<WebhookOptions>)
}
