import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { Miniflare } from 'miniflare'
import type { ClaimResult } from 'tix-webhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SECRET } from './deliveries.js'
import { HANDLED_FACTS } from './handled-facts.js'
import { bundledWorker, workerd } from './workerd.js'

const NAMES = ['a', 'b', 'c', 'd']

export interface EdgeStage {
  /** Asks one of the Workers, and resolves to its JSON. */
  ask<T>(path: string, worker?: string): Promise<T>
}

/** In memory if the system has such a folder: these tests spend most of their time on commits to a disk, which they do not test. */
const TEMPORARY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** Four isolates of one Worker that share a D1 and a namespace of Durable Objects. */
export function edgeStage(): EdgeStage {
  let runtime: Miniflare | undefined
  let folder = ''

  async function ask<T>(path: string, worker = 'a'): Promise<T> {
    const response = await (runtime as Miniflare).dispatchFetch(`http://worker${path}`, {
      headers: { worker },
    })
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()) as T
  }

  beforeAll(async () => {
    const script = await bundledWorker('test/support/workers/store-worker.ts')
    folder = mkdtempSync(`${TEMPORARY}/tix-webhooks-`)
    const object = { className: 'TestedObject', useSQLite: true }
    runtime = workerd(
      NAMES.map((name) => ({
        name,
        modules: true,
        script,
        d1Databases: { DB: 'shared' },
        durableObjects: { WEBHOOKS: name === 'a' ? object : { ...object, scriptName: 'a' } },
        serviceBindings: Object.fromEntries(NAMES.map((other) => [other, other])),
        bindings: { SECRET },
      })),
      { d1Persist: `${folder}/d1`, durableObjectsPersist: `${folder}/objects` },
    )
    await ask('/migrate')
  }, 30_000)
  afterAll(async () => {
    await runtime?.dispose()
    if (folder !== '') rmSync(folder, { recursive: true, force: true })
  })

  return { ask }
}

/** The tests of every store at the edge, with the calls of several isolates at once. */
export function testEdgeStore(storeName: string, { ask }: EdgeStage): void {
  test('passes the cases of every store, inside workerd', { timeout: 60_000 }, async () => {
    expect(await ask(`/cases?store=${storeName}`)).toEqual([])
  })

  test('says which events were handled, and that it can be reached', async () => {
    expect(await ask(`/handled?store=${storeName}`)).toEqual(HANDLED_FACTS)
    expect(await ask(`/check?store=${storeName}`)).toBe('')
  })

  test('grants one of 80 claims that four isolates send at once', async () => {
    for (const key of ['first', 'second', 'third']) {
      const answers = await Promise.all(
        NAMES.map((name) =>
          ask<{ isolate: number; results: ClaimResult[] }>(`/claims?store=${storeName}&key=${key}`, name),
        ),
      )
      expect(new Set(answers.map(({ isolate }) => isolate)).size).toBe(NAMES.length)
      const results = answers.flatMap(({ results }) => results)
      expect(results).toHaveLength(80)
      const granted = results.filter(({ status }) => status !== 'in_flight')
      expect(granted).toEqual([{ status: 'claimed', attempt: 1 }])
    }
  })

  test('makes 100 runs of 1,000 deliveries of 100 events to four isolates, half of them retries of a failed run', async () => {
    const { statuses, retried } = await ask<{ statuses: number[]; retried: number[] }>(
      `/deliveries?store=${storeName}`,
    )
    expect(statuses).toHaveLength(1_000)
    expect(new Set(statuses)).toEqual(new Set([200, 500, 503]))
    // The first run of each order fails, and a retry runs it again.
    expect([...statuses, ...retried].filter((status) => status === 500)).toHaveLength(100)
    expect(retried.slice(-100)).toEqual(Array.from({ length: 100 }, () => 200))
    const runs = await ask<{ id: string }[]>(`/runs?store=${storeName}`)
    expect(runs).toHaveLength(100)
    expect(new Set(runs.map(({ id }) => id)).size).toBe(100)
  }, 60_000)
}
