import { messageOf } from '../../src/internal.js'
import { isFunction } from './client.js'

const warned = new WeakSet<object>()

/** Warns, once for each client, of a server that evicts keys: it forgets handled events. Not every server reveals its policy. */
export function warnOfEvictionOnce(client: object): void {
  if (warned.has(client)) return
  warned.add(client)
  void warnOfEviction(client).then((isFinal) => isFinal || warned.delete(client))
}

/** @returns whether the answer is final, so that the server need not be asked again */
async function warnOfEviction(client: object): Promise<boolean> {
  if (!isFunction(client, 'info')) return true
  try {
    const info = String(await (client as { info(section: string): Promise<unknown> }).info('memory'))
    const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1]
    if (policy === undefined || policy === 'noeviction') return true
    console.warn(
      `tix-webhooks: this Redis has maxmemory-policy ${policy}. When its memory is full it forgets events that were handled, which run again if they are delivered again, and events that are running, which then run twice at the same time. Set it to noeviction, or use another Redis.`,
    )
    return true
  } catch (error) {
    // A user without the right never gets it; an outage is reported by the calls themselves.
    return messageOf(error).includes('NOPERM')
  }
}
