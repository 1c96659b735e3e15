import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { arch, cpus, loadavg, platform, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { openDatabase, rowOf } from '../../test/support/sqlite-open.js'
import type { Bench } from './bench.js'
import { spread } from './figures.js'
import { estimateOf } from './rounds.js'

/** The conditions that the figures depend on, one per line. */
export async function conditions(bench: Bench): Promise<readonly string[]> {
  const load = loadavg().map((one) => one.toFixed(2))
  const [first] = cpus()
  const gigabytes = Math.round(totalmem() / 2 ** 30)
  return [
    `${cpus().length} cores (${first?.model.trim()}), ${gigabytes} GB; load in the 1, 5 and 15 minutes before: ${load.join(', ')}`,
    `one write and fdatasync of 4 KB: ${spread(estimateOf(await syncTimes(await bench.folder()), 'time'))} µs`,
  ]
}

/** The measured versions, one per line. */
export async function versions(bench: Bench): Promise<readonly string[]> {
  return [
    `${platform()} ${release()} ${arch()}, Node ${process.versions.node}, Redis ${await redisVersion(bench)}, Postgres ${await postgresVersion(bench)}, SQLite ${sqliteVersion()}`,
    (await installed()).join(', '),
  ]
}

/** Durable stores wait for this once per commit. */
async function syncTimes(folder: string): Promise<number[]> {
  const file = openSync(join(folder, 'sync'), 'w')
  const page = Buffer.alloc(4096, 1)
  const figures = Array.from({ length: 100 }, () => {
    const start = performance.now()
    writeSync(file, page)
    fdatasyncSync(file)
    return (performance.now() - start) * 1000
  })
  closeSync(file)
  return figures
}

async function redisVersion(bench: Bench): Promise<string | undefined> {
  const client = new Redis((await bench.redis()).url)
  const info = await client.info('server')
  client.disconnect()
  return /^redis_version:(\S+)/m.exec(info)?.[1]
}

async function postgresVersion(bench: Bench): Promise<string> {
  const client = new Client((await bench.postgres()).url)
  await client.connect()
  const { rows } = await client.query<{ server_version: string }>('SHOW server_version')
  await client.end()
  return String(rows[0]?.server_version)
}

function sqliteVersion(): string {
  const db = openDatabase('libsql', ':memory:')
  const { version } = rowOf(db, 'SELECT sqlite_version() AS version')
  db.close()
  return `${version} (libsql)`
}

async function installed(): Promise<string[]> {
  const read = async (path: string) => JSON.parse(await readFile(new URL(path, import.meta.url), 'utf8'))
  const { version } = await read('../../package.json')
  const { packages } = await read('../package-lock.json')
  const names = Object.keys(packages[''].dependencies)
  return [
    `tix-webhooks ${version}`,
    ...names.map((name) => `${name} ${packages[`node_modules/${name}`].version}`),
  ]
}
