import { Discard, type JoinedInbox, memoryFailures } from 'tix-webhooks'
import { type SqliteTransaction, sqliteFailures, sqliteInbox } from 'tix-webhooks/sqlite'
import { describe, expect, test, vi } from 'vitest'
import { failed } from '../../../support/failed-delivery.js'
import { DAY } from '../../../support/sqlite-claims.js'
import { listening, onEachDriver } from '../../../support/sqlite-drivers.js'
import type { TestDatabase } from '../../../support/sqlite-open.js'
import { valuesOf } from '../../../support/sqlite-open.js'
import { expectUnavailable } from '../../../support/sqlite-rejections.js'

type Tx = SqliteTransaction<TestDatabase>
type Joined = JoinedInbox<Tx>

const KEY = 'n/k'
const request = { key: KEY, retainMs: 7 * DAY, failureKey: KEY, runsParked: false, report: () => {} }
const notCalled = async (): Promise<void> => expect.fail('It ran.')

onEachDriver('an inbox joined with failures', ({ open }) => {
  async function joinedOn(db: TestDatabase = open(), now?: () => number) {
    const inbox = sqliteInbox(db, now === undefined ? {} : { now })
    const failures = sqliteFailures(db, now === undefined ? {} : { now })
    await inbox.migrate()
    await failures.migrate()
    db.exec('CREATE TABLE IF NOT EXISTS effects (id TEXT NOT NULL)')
    const joined = inbox.joinFailures?.(failures) as Joined
    const effect = (id: string) => async (tx: Tx) => {
      tx.commit((handed) => void handed.prepare('INSERT INTO effects VALUES (?)').run(id))
    }
    const state = () => [
      valuesOf(db, 'SELECT key FROM tix_webhooks_inbox ORDER BY key'),
      valuesOf(db, 'SELECT attempts FROM tix_webhooks_failures'),
      valuesOf(db, 'SELECT id FROM effects'),
    ]
    return { db, inbox, failures, joined, effect, state }
  }

  test('is one only if they were made of the same database object', async () => {
    const db = open()
    const inbox = sqliteInbox(db)
    expect(inbox.joinFailures?.(sqliteFailures(db))).toBeDefined()
    expect(inbox.joinFailures?.(sqliteFailures(open()))).toBeUndefined()
    expect(inbox.joinFailures?.(memoryFailures())).toBeUndefined()
    // As an app has that loads the package as ESM and as CommonJS.
    const url = '../../../../adapters/sqlite/failures.js?copy'
    const copy = (await import(url)) as { sqliteFailures: typeof sqliteFailures }
    expect(copy.sqliteFailures).not.toBe(sqliteFailures)
    expect(inbox.joinFailures?.(copy.sqliteFailures(db))).toBeDefined()
  })

  const ENDS: [what: string, status: string, work: (tx: Tx) => Promise<void>][] = [
    ['effects', 'handled', async (tx) => void tx.commit((db) => db.exec("INSERT INTO effects VALUES ('e')"))],
    ['no call of ctx.tx.commit', 'handled', async () => {}],
    ['a Discard', 'discarded', async () => Promise.reject(new Discard())],
  ]
  test.each(ENDS)(
    'removes the failure with %s, also one that was kept since it began',
    async (_, status, work) => {
      const { joined, failures, state } = await joinedOn()
      for (const isEarlier of [true, false]) {
        const key = `n/${isEarlier}`
        if (isEarlier) await joined.keep(failed({ key }))
        const once = joined.once({ ...request, key, failureKey: key }, async (tx) => {
          if (!isEarlier) await joined.keep(failed({ key }))
          await work(tx)
        })
        expect(await once).toEqual({ status })
      }
      await joined.keep(failed({ key: 'n/other' }))
      expect(state().slice(0, 2)).toEqual([['n/false', 'n/true'], [1]])
      expect((await failures.list()).map(({ key }) => key)).toEqual(['n/other'])
    },
  )

  test('leaves the failure if the effects fail, the commit fails, or the handler does', async () => {
    const { db, joined, state } = await joinedOn()
    await joined.keep(failed())
    db.exec('PRAGMA foreign_keys = ON; CREATE TABLE orders (id TEXT PRIMARY KEY)')
    db.exec('CREATE TABLE tickets (o TEXT REFERENCES orders (id) DEFERRABLE INITIALLY DEFERRED)')
    const broken = (statement: string) => async (tx: Tx) => {
      tx.commit((handed) => handed.exec(`INSERT INTO effects VALUES ('e'); ${statement}`))
    }
    for (const work of [
      broken('INSERT INTO nowhere VALUES (1)'),
      broken("INSERT INTO tickets VALUES ('of no order')"),
      broken('ROLLBACK'),
      async () => Promise.reject(new Error('no ink')),
    ]) {
      await expect(joined.once(request, work)).rejects.toThrow()
      expect(state()).toEqual([[], [1], []])
    }
  })

  describe('of two overlapping deliveries', () => {
    /** All orders of the steps of two deliveries. */
    function orders(one: readonly string[], other: readonly string[]): string[][] {
      const [a, ...as] = one
      const [b, ...bs] = other
      if (a === undefined || b === undefined) return [[...one, ...other]]
      return [
        ...orders(as, other).map((rest) => [a, ...rest]),
        ...orders(one, bs).map((rest) => [b, ...rest]),
      ]
    }

    /** One delivery, which takes its steps when it is told to. */
    function delivery({ joined, effect }: Awaited<ReturnType<typeof joinedOn>>, isFailing: boolean) {
      const ends: unknown[] = []
      let end = (): void => {}
      let ended: Promise<unknown> = Promise.resolve()
      const steps: Record<string, () => Promise<unknown>> = {
        begin: () =>
          new Promise<void>((begun) => {
            ended = joined
              .once(request, async (tx) => {
                begun()
                await new Promise<void>((resolve) => {
                  end = resolve
                })
                if (isFailing) throw new Error('no ink')
                await effect('e')(tx)
              })
              .catch((error: Error) => error.message)
              .finally(begun)
          }),
        async end() {
          end()
          ends.push(await ended)
        },
        keep: async () => ends[0] === 'no ink' && ends.push(await joined.keep(failed())),
      }
      return { take: (step: string) => steps[step]?.(), ends }
    }

    test.each([1, 2])(
      'one succeeds, in every order, on %i connections: no failure is left',
      async (connections) => {
        const db = open()
        const one = await joinedOn(db)
        const other = connections === 1 ? one : await joinedOn(open())
        for (const order of orders(['a begin', 'a end', 'a keep'], ['b begin', 'b end'])) {
          db.exec('DELETE FROM tix_webhooks_inbox; DELETE FROM effects')
          const deliveries = { a: delivery(one, true), b: delivery(other, false) }
          for (const step of order) await deliveries[step[0] as 'a' | 'b'].take(step.slice(2))
          expect([order, one.state()]).toEqual([order, [[KEY], [], ['e']]])
        }
      },
    )

    test.each([1, 2])('both fail, in every order, on %i connections: one failure', async (connections) => {
      const db = open()
      const one = await joinedOn(db)
      const other = connections === 1 ? one : await joinedOn(open())
      for (const order of orders(['a begin', 'a end', 'a keep'], ['b begin', 'b end', 'b keep'])) {
        db.exec('DELETE FROM tix_webhooks_failures')
        const deliveries = { a: delivery(one, true), b: delivery(other, true) }
        for (const step of order) await deliveries[step[0] as 'a' | 'b'].take(step.slice(2))
        expect([order, one.state()]).toEqual([order, [[], [2], []]])
      }
    })
  })

  test('whose failures have no table says so, and runs as without them', async () => {
    const { db, joined, failures, effect, state } = await joinedOn()
    db.exec('DROP TABLE tix_webhooks_failures')
    const missing = /"tix_webhooks_failures" is missing: run failures\.migrate\(\)/
    const report = vi.fn()
    expect(await joined.once({ ...request, report }, effect('e'))).toEqual({ status: 'handled' })
    expect(await joined.once({ ...request, report }, notCalled)).toEqual({ status: 'duplicate' })
    expect(report.mock.calls).toEqual([
      [expect.objectContaining({ code: 'store_unavailable', message: expect.stringMatching(missing) })],
    ])
    await expectUnavailable(joined.keep(failed({ key: 'n/other' })), missing)
    await failures.migrate()
    expect(state()).toEqual([[KEY], [], ['e']])
    db.exec('DROP TABLE tix_webhooks_inbox')
    await expectUnavailable(joined.keep(failed()), /"tix_webhooks_inbox" is missing: run inbox\.migrate\(\)/)
    expect(await failures.count()).toBe(0)
  })

  describe('of an event that never failed', () => {
    /** The statements of one delivery, without those that set and check pragmas. */
    async function statementsOf(isJoined: boolean): Promise<string[]> {
      const { db, statements } = listening(open(`joined-${isJoined}.db`))
      const { inbox, joined, effect } = await joinedOn(db)
      for (const key of ['n/first', 'n/counted']) {
        statements.length = 0
        const once = { ...request, key, failureKey: key }
        await (isJoined ? joined.once(once, effect('e')) : inbox.once(once, effect('e')))
      }
      return statements
        .filter((sql) => !sql.startsWith('PRAGMA'))
        .map((sql) => sql.replaceAll(/\s+/g, ' ').slice(0, 44))
    }

    const [look, transaction, effects] = [
      'SELECT 1 AS found FROM "tix_webhooks_inbox" ',
      ['BEGIN IMMEDIATE', 'INSERT INTO "tix_webhooks_inbox" AS stored ('],
      [
        'SAVEPOINT tix_webhooks_effects',
        'INSERT INTO effects VALUES (?)',
        'RELEASE tix_webhooks_effects',
        'COMMIT',
      ],
    ] as const

    test('runs the statements of an inbox without failures, and two by key', async () => {
      expect(await statementsOf(false)).toEqual([look, ...transaction, ...effects])
      expect(await statementsOf(true)).toEqual([
        look,
        'SELECT state FROM "tix_webhooks_failures" WH',
        ...transaction,
        'DELETE FROM "tix_webhooks_failures" WHERE ke',
        ...effects,
      ])
    })
  })
})
