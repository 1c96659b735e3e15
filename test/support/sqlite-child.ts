// A child process on a database file: `sqlite-children.ts` compiles and starts it.
import { once } from 'node:events'
import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { failedDelivery } from './failed-delivery.js'
import type { ChildReply, ChildTask, KillPoint } from './sqlite-children.js'
import { inboxOn, insert } from './sqlite-inbox.js'
import { openDatabase, type TestDatabase } from './sqlite-open.js'

const MINUTE = 60_000
const task = JSON.parse(process.argv[2] ?? '') as ChildTask
const db = openDatabase(task.driver, task.file)

function reply(message: ChildReply): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(message, () => resolve())
  })
}

/** Reports that it is ready, and waits until it may continue. */
async function ready(): Promise<void> {
  const gone = once(process, 'message')
  await reply({})
  await gone
}

async function claim(token: string, keys: readonly string[]): Promise<ChildReply> {
  // Four writers without pauses keep one another waiting, and a slow disk adds to that.
  db.exec('PRAGMA busy_timeout = 60000')
  const store = sqliteStore(db)
  await ready()
  const claimed: string[] = []
  for (const key of keys) {
    const result = await store.claim({ key, token, leaseMs: 60 * MINUTE, retainMs: 60 * MINUTE })
    if (result.status === 'claimed') claimed.push(key)
  }
  return { claimed }
}

async function migrate(): Promise<ChildReply> {
  const [store, inbox] = [sqliteStore(db), sqliteInbox(db)]
  await ready()
  await store.migrate()
  await inbox.migrate()
  return {}
}

/** Keeps all others from writing, or from changing the journal mode, until it may continue. */
async function hold(by: 'writing' | 'reading'): Promise<ChildReply> {
  db.exec('PRAGMA busy_timeout = 60000')
  db.exec(by === 'writing' ? 'BEGIN IMMEDIATE' : 'BEGIN')
  db.prepare('SELECT count(*) FROM sqlite_master').all()
  await ready()
  db.exec('ROLLBACK')
  return {}
}

/** Delivers until its disk takes nothing more. */
async function fill(): Promise<ChildReply> {
  const [store, inbox] = [sqliteStore(db), sqliteInbox(db)]
  await inbox.migrate()
  const ms = { leaseMs: MINUTE, retainMs: MINUTE }
  const say = (calls: readonly Promise<unknown>[]): Promise<string[]> =>
    Promise.all(
      calls.map((call) =>
        call.then(
          () => 'ok',
          (error: Error) => error.message,
        ),
      ),
    )
  const ask = async (key: string): Promise<string[]> => [
    ...(await say([store.claim({ key, token: 't', ...ms })])),
    ...(await say([inbox.once({ key: `${key} i`, ...ms }, async () => {})])),
    ...(await say([store.keep(failedDelivery({ key: `${key} f` }))])),
    ...(await say([store.check(), inbox.check()])),
  ]
  const before = await ask('first')
  for (let i = 0; (await say([inbox.once({ key: `k${i}`, ...ms }, async () => {})]))[0] === 'ok'; i++);
  return { said: { before, after: await ask('last') } }
}

type DeliverTask = Extract<ChildTask, { task: 'deliver' }>

/** Handles an event, and is killed during it. */
async function deliver({ payload, killAt, setup, fails, times = 1 }: DeliverTask): Promise<ChildReply> {
  if (setup !== undefined) db.exec(setup)
  const at = (point: KillPoint): void => {
    if (point === killAt) process.kill(process.pid, 'SIGKILL')
  }
  const { send } = await inboxOn(
    db,
    (event, tx) => {
      at('in the handler')
      if (fails) throw new Error('no ink')
      tx.commit((handed) => {
        at('before the effects')
        for (let i = 0; i < times; i++) insert(event)(handed)
        at('after the effects')
      })
      at('after ctx.tx.commit')
    },
    { through: killedAtCommit(db, at), timeoutSeconds: 120 },
  )
  return { error: `It lived on, and answered ${await send(payload)}.` }
}

function killedAtCommit(real: TestDatabase, at: (point: KillPoint) => void): TestDatabase {
  return {
    prepare: (sql) => real.prepare(sql),
    exec(sql) {
      if (sql === 'COMMIT') at('before COMMIT')
      real.exec(sql)
      if (sql === 'COMMIT') at('after COMMIT')
    },
    close: () => real.close(),
  }
}

async function work(): Promise<ChildReply> {
  switch (task.task) {
    case 'claim':
      return claim(task.token, task.keys)
    case 'migrate':
      return migrate()
    case 'hold':
      return hold(task.by)
    case 'fill':
      return fill()
    case 'deliver':
      return deliver(task)
  }
}

await reply(await work().catch((error: Error) => ({ error: `${error.message} (${error.cause})` })))
db.close()
process.disconnect?.()
