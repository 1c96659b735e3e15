import { ddl } from 'tix-webhooks/postgres'
import { beforeEach, expect, test } from 'vitest'
import { onPostgres } from '../../../support/on-servers.js'
import { INBOX_CLIENTS } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'

const ONCE = { key: null, retainMs: 60_000 }

onPostgres.each(INBOX_CLIENTS)('the COMMIT of an inbox over $name', (library) => {
  // Deferred, so that it sees what COMMIT sees.
  const database = testDatabase(
    ddl,
    'CREATE TABLE effects (id text)',
    'CREATE TABLE seen (setting text)',
    `CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$`,
    `CREATE CONSTRAINT TRIGGER noted AFTER INSERT ON effects DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION note()`,
  )

  beforeEach(() => database.query('TRUNCATE effects, seen'))

  test.each([
    ['off', 'on'],
    ['local', 'on'],
    ['remote_write', 'on'],
    ['on', 'on'],
    ['remote_apply', 'remote_apply'],
  ])(
    'waits for the disk where synchronous_commit is %s, and leaves that as it was',
    async (given, atCommit) => {
      const client = library.open(database, { settings: { synchronous_commit: given }, max: 1 })
      await client.inbox().once(ONCE, async (tx) => {
        await client.run(tx, "INSERT INTO effects VALUES ('one')")
      })
      expect(await database.column('SELECT setting FROM seen')).toEqual([atCommit])
      await client.plain(async (tx) => {
        expect(await client.run(tx, 'SHOW synchronous_commit')).toEqual([{ synchronous_commit: given }])
      })
    },
  )

  test.each(['SET LOCAL', 'SET'])('waits for the disk though the handler does not: %s', async (set) => {
    const client = library.open(database)
    await client.inbox().once(ONCE, async (tx) => {
      await client.run(tx, `${set} synchronous_commit = off`)
      await client.savepoint(tx, (inner) => client.run(inner, "INSERT INTO effects VALUES ('one')"))
    })
    expect(await database.column('SELECT setting FROM seen')).toEqual(['on'])
  })
})
