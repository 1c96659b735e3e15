import { postgresStore } from 'tix-webhooks/postgres'
import type { StoreHarness } from 'tix-webhooks/testing'
import { shiftPostgres } from '../../../test/support/shift-deadlines.js'

type Pool = Parameters<typeof postgresStore>[0]

/** Runs a statement, and resolves to its rows. */
export type Run<Client> = (client: Client, sql: string) => Promise<readonly { id: string }[]>

/** The rows that the handlers of all lanes write through inboxes; `run/stores.ts` creates the table. */
export const ROWS = 'lane_rows'

/** The cases of a store in a table of its own, with two stores over one client, made when it is first used. */
export function postgresHarness<Client extends Pool>(open: () => Client, run: Run<Client>): StoreHarness {
  let opened: { client: Client; table: string } | undefined
  let migrated: Promise<void> | undefined

  // Not sooner: a Worker may neither connect nor make random numbers before its first request.
  function parts() {
    if (opened !== undefined) return opened
    const client = open()
    const table = `lane_${crypto.randomUUID().replaceAll('-', '')}`
    opened = { client, table }
    return opened
  }

  async function create() {
    const { client, table } = parts()
    const store = postgresStore(client, { table })
    migrated ??= store.migrate()
    await migrated
    return store
  }

  return {
    create,
    createSecond: create,
    async advance(ms) {
      const { client, table } = parts()
      await run(client, shiftPostgres(table, ms))
    },
  }
}
