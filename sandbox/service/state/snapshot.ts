import * as z from 'zod'
import type { Service } from '../service.js'

const FORMAT = 'tix-webhooks-sandbox'
const VERSION = 1

const snapshotSchema = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  saved_at: z.iso.datetime(),
  clock: z.strictObject({ now: z.iso.datetime(), frozen: z.boolean() }),
  random: z.array(z.int()),
  accounts: z.strictObject({ test: z.unknown(), live: z.unknown() }),
  engine: z.unknown(),
})

/** The state of a sandbox, as plain JSON. */
export type Snapshot = z.infer<typeof snapshotSchema>

export function snapshotOf({ clock, random, accounts, engine }: Service): Snapshot {
  return {
    format: FORMAT,
    version: VERSION,
    saved_at: new Date().toISOString(),
    clock: { now: new Date(clock.now()).toISOString(), frozen: clock.isFrozen },
    random: [...random.state],
    accounts: { test: accounts.test.snapshot(), live: accounts.live.snapshot() },
    engine: engine.snapshot(),
  }
}

/** @throws Error that says what is wrong with it */
export function checkSnapshot(value: unknown): Snapshot {
  const read = snapshotSchema.safeParse(value)
  if (read.success) return read.data
  const { format, version } = (value ?? {}) as { format?: unknown; version?: unknown }
  if (format !== FORMAT) throw new Error('it is not the state of a sandbox')
  if (version !== VERSION) {
    throw new Error(
      `it was written by another version: its format is ${String(version)}, and this one reads ${VERSION}`,
    )
  }
  const [issue] = read.error.issues
  throw new Error(`${issue?.path.join('.')}: ${issue?.message}`)
}

/** The virtual time after a restart: a clock that ran has advanced since the snapshot, a frozen one has not. */
function resumedAt({ clock, saved_at }: Snapshot): number {
  const passedMs = clock.frozen ? 0 : Math.max(0, Date.now() - Date.parse(saved_at))
  return Date.parse(clock.now) + passedMs
}

/** Goes on from there: what waited is due again; without a seed, ids are others than before. @throws Error that says what is wrong with it */
export function restore({ clock, random, accounts, engine }: Service, snapshot: Snapshot): void {
  clock.restart({ startMs: resumedAt(snapshot), frozen: snapshot.clock.frozen })
  accounts.test.restore(snapshot.accounts.test)
  accounts.live.restore(snapshot.accounts.live)
  engine.restore(snapshot.engine)
  // After all that draws from it.
  random.restore(snapshot.random)
}
