import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Libsql from 'libsql'
import { sqliteStore } from 'tix-webhooks/sqlite'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'

const LEASE_MS = 60_000
const HOUR_MS = 3_600_000
const GRANTED = { status: 'claimed', attempt: 1 }

const claimOf = (key: string, token = key) => ({ key, token, leaseMs: LEASE_MS, retainMs: HOUR_MS })

/** A database on a file that counts the transactions of the store, and can fail at a COMMIT. */
function openCounted(file: string) {
  const db = new Libsql(file)
  onTestFinished(() => void db.close())
  const counted = {
    begun: 0,
    committed: 0,
    failures: 0,
    prepare: (sql: string) => db.prepare(sql),
    exec(sql: string) {
      if (sql.startsWith('BEGIN')) counted.begun += 1
      if (sql === 'COMMIT') {
        counted.committed += 1
        if (counted.failures-- > 0) throw new Error('disk I/O error')
      }
      return db.exec(sql)
    },
  }
  return { db, counted }
}

describe('calls of sqliteStore that arrive in one turn of the event loop', () => {
  let file: string

  beforeEach(() => {
    const folder = mkdtempSync(join(tmpdir(), 'tix-webhooks-sqlite-'))
    file = join(folder, 'store.db')
    return () => rmSync(folder, { recursive: true })
  })

  async function open() {
    const { db, counted } = openCounted(file)
    const store = sqliteStore(counted)
    await store.migrate()
    return { db, counted, store }
  }

  test('are committed together, whatever they are, in the order of their arrival', async () => {
    const { counted, store } = await open()
    const kept = { key: 'kept', token: 'kept' }
    await store.claim(claimOf('kept'))
    await store.claim(claimOf('failed'))
    counted.committed = 0
    expect(
      await Promise.all([
        store.claim(claimOf('new')),
        store.renew(kept, LEASE_MS),
        store.complete(kept, HOUR_MS),
        store.claim(claimOf('kept', 'other')),
        store.release({ key: 'failed', token: 'failed' }),
        store.claim(claimOf('failed', 'other')),
        store.complete({ key: 'new', token: 'foreign' }, HOUR_MS),
      ]),
    ).toEqual([GRANTED, true, true, { status: 'completed' }, true, { status: 'claimed', attempt: 2 }, false])
    expect(counted.committed).toBe(1)
  })

  test('need no timer that a test can fake', async () => {
    const { store } = await open()
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    expect(await store.claim(claimOf('k'))).toEqual(GRANTED)
  })

  test.each(['ABORT', 'ROLLBACK', 'FAIL'])(
    'do not fail because a trigger refuses one of them by %s',
    async (how) => {
      const { db, store } = await open()
      db.exec(
        `CREATE TRIGGER refuse BEFORE INSERT ON tix_webhooks WHEN new.key = 'bad' BEGIN SELECT RAISE(${how}, 'refused'); END`,
      )
      const [before, bad, after] = await Promise.allSettled(
        ['before', 'bad', 'after'].map((key) => store.claim(claimOf(key))),
      )
      expect(before).toMatchObject({ value: GRANTED })
      expect(after).toMatchObject({ value: GRANTED })
      expect(bad).toMatchObject({ reason: { code: 'store_unavailable' } })
      expect(await store.complete({ key: 'before', token: 'before' }, HOUR_MS)).toBe(true)
    },
  )

  test('are committed one by one if their common commit fails, and are granted only if that succeeds', async () => {
    const { counted, store } = await open()
    counted.failures = 2
    const claims = ['a', 'b'].map((key) => store.claim(claimOf(key)))
    expect(await Promise.allSettled(claims)).toMatchObject([
      { reason: { code: 'store_unavailable' } },
      { value: GRANTED },
    ])
  })

  test('wait together for the lock of another process, and not one after the other', async () => {
    const { db, counted, store } = await open()
    await store.claim(claimOf('k'))
    db.exec('PRAGMA busy_timeout = 1')
    const other = new Libsql(file)
    onTestFinished(() => void other.close())
    other.exec('BEGIN IMMEDIATE')
    counted.begun = 0
    const settled = await Promise.allSettled(['a', 'b', 'c'].map((key) => store.claim(claimOf(key))))
    expect(settled).toMatchObject(Array(3).fill({ reason: { code: 'store_unavailable' } }))
    expect(counted.begun).toBe(1)
    other.exec('ROLLBACK')
    expect(await store.claim(claimOf('a'))).toEqual(GRANTED)
  })
})
