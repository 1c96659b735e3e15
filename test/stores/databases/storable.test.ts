import fc from 'fast-check'
import { createReceiver, storable } from 'tix-webhooks'
import { expect, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql, onPostgres } from '../../support/on-servers.js'
import { testDatabase } from '../../support/postgres-database.js'
import { runs } from '../../support/runs.js'

const NUL = 'a\0'
const HALF = '\ud83c b'

/** What the default log says of a handler whose insert fails: without the stack. */
async function logged(insert: () => Promise<unknown>): Promise<string> {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
  const receiver = createReceiver({ secret: SECRET, on: { 'order.created': insert } })
  const outcome = await receiver.receive({ ...(await sign(orderCreated())), request: null })
  expect(outcome).toMatchObject({ outcome: 'failed' })
  const [[text]] = printed.mock.calls as [[unknown]]
  printed.mockRestore()
  return String(text).split('\n')[0] as string
}

const ADVICE =
  / A text has NUL or half of a surrogate pair, .*: write storable\(value\), exported by tix-webhooks\.$/

/** As the buyer of an order may have written it. */
const json = fc.jsonValue({ stringUnit: 'binary' }).map((value) => ({ value, note: `${NUL}${HALF}` }))

onPostgres('Postgres', () => {
  const { query, column } = testDatabase('CREATE TABLE kept (data jsonb, note text)')

  test.each<[string, string, unknown]>([
    ['NUL in jsonb', 'data', JSON.stringify({ note: NUL })],
    ['half of a surrogate pair in jsonb', 'data', JSON.stringify({ note: HALF })],
    ['NUL in text', 'note', NUL],
  ])('refuses %s, and the log says what to do', async (_, name, value) => {
    const insert = `INSERT INTO kept (${name}) VALUES ($1)`
    expect(await logged(() => query(insert, [value]))).toMatch(ADVICE)
    // Also if a library has wrapped the error.
    const wrapped = () =>
      query(insert, [value]).catch((cause: unknown) => Promise.reject(new Error('Failed query', { cause })))
    expect(await logged(wrapped)).toMatch(ADVICE)
    const other = () => query('INSERT INTO kept (data) VALUES ($1)', ['{'])
    expect(await logged(other)).not.toMatch(ADVICE)
  })

  test('takes each storable value in jsonb, and its texts in text', async () => {
    await fc.assert(
      fc.asyncProperty(json, async (value) => {
        const stored = storable(value)
        expect(await column('SELECT $1::jsonb', [JSON.stringify(stored)])).toEqual([
          JSON.parse(JSON.stringify(stored)),
        ])
        expect(await column('SELECT $1::text', [stored.note])).toEqual([stored.note])
      }),
      { numRuns: runs(50) },
    )
  })
})

onMysql('MySQL', () => {
  const database = testMysqlDatabase('CREATE TABLE kept (data JSON)')
  const insert = (value: object) => database.query('INSERT INTO kept VALUES (?)', [JSON.stringify(value)])

  test('takes each storable value as JSON, and the log says what to do if it refuses another', async () => {
    await fc.assert(
      fc.asyncProperty(json, async (value) => {
        await insert(storable(value))
      }),
      { numRuns: runs(50) },
    )
    if (await database.isMariadb()) return
    expect(await logged(() => insert({ note: HALF }))).toMatch(ADVICE)
  })
})
