import { Discard, type Inbox } from 'tix-webhooks'

/** The transaction of the inbox: what it writes is kept only if the handler succeeds. */
export interface LaneTx {
  write(id: string): void
}

/** An inbox, and the rows that were written through it. */
export interface LaneInbox {
  readonly inbox: Inbox<LaneTx>
  rows(): string[]
}

/** In memory, for the runtimes without a database: it tests that the receiver's side of an inbox works there. */
export function memoryInbox(): LaneInbox {
  const rows: string[] = []
  const done = new Set<string>()
  const running = new Set<string>()
  return {
    rows: () => [...rows],
    inbox: {
      async once({ key }, work) {
        const name = key ?? ''
        if (done.has(name)) return { status: 'duplicate' }
        if (running.has(name)) return { status: 'in_flight' }
        running.add(name)
        const written: string[] = []
        try {
          await work({ write: (id) => written.push(id) })
          rows.push(...written)
          done.add(name)
          return { status: 'handled' }
        } catch (error) {
          if (!(error instanceof Discard)) throw error
          done.add(name)
          return { status: 'discarded' }
        } finally {
          running.delete(name)
        }
      },
    },
  }
}
