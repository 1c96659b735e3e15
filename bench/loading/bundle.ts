import { transformSync } from 'esbuild'
import { gzipped, workerBundle } from '../../test/support/worker-bundle.js'
import type { Bench } from '../support/bench.js'
import { times, whole } from '../support/figures.js'
import { type Goal, judged } from '../support/goal.js'
import type { Table } from '../support/report.js'
import { proseOf } from './prose.js'

const GOAL_BYTES = 16_200
const GOAL: Goal = { atMost: 1 }

const ADAPTER = "export { tixWebhooks } from 'tix-webhooks/hono'"
const PLAIN_APP = `
import { Hono } from 'hono'
const app = new Hono()
app.post('/hooks', (c) => c.body(null, 200))
export default app`
const APP = `
import { Hono } from 'hono'
import { tixWebhooks } from 'tix-webhooks/hono'
const app = new Hono()
app.post('/hooks', tixWebhooks({ secret: (c) => c.env.SECRET, on: { 'order.created': () => {} } }))
export default app`

/** The size of our upload to a Worker. Exact, so measured once. */
export async function workerBundles(bench: Bench): Promise<readonly Table[]> {
  bench.progress('loading: bundles')
  const rows: string[][] = []
  for (const [what, code] of [
    ['tix-webhooks/hono, hono external', ADAPTER],
    ['a Worker with hono', PLAIN_APP],
    ['a Worker with hono and tix-webhooks/hono', APP],
  ] as const) {
    const minified = await workerBundle(code, { external: code === ADAPTER ? ['hono'] : [] })
    const bytes = gzipped(minified)
    const isOurs = code === ADAPTER
    const ratio = [bytes / GOAL_BYTES]
    rows.push([
      what,
      whole(Buffer.byteLength(minified)),
      whole(bytes),
      ...(isOurs ? [times(bytes / GOAL_BYTES), ...judged(ratio, GOAL)] : ['', '', '']),
    ])
    if (isOurs) {
      const bare = proseOf(minified).without
      rows.push([
        'the same without its messages',
        whole(Buffer.byteLength(bare)),
        whole(gzipped(bare)),
        '',
        '',
        '',
      ])
    }
  }
  return [
    {
      title: 'Bytes of a Worker bundle: esbuild, minified, then gzip at level 9',
      columns: ['what', 'minified', 'gzip', `to ${whole(GOAL_BYTES)} bytes`, 'goal', ''],
      rows,
      notes: [
        'Messages are the text in string and template literals of three words or more: what an error says.',
      ],
    },
    await filesTable(),
  ]
}

/** The size of each source file, and the share of it that is prose. */
async function filesTable(): Promise<Table> {
  // With whitespace, so that esbuild names the file of each part in a comment.
  const options = { minify: false, minifySyntax: true, minifyIdentifiers: true, external: ['hono'] }
  const code = await workerBundle("export { tixWebhooks } from './adapters/hono.ts'", options)
  const files = code
    .split(/^\/\/ (?=(?:src|adapters)\/\S+\.ts$)/m)
    .slice(1)
    .map((section) => {
      const name = section.slice(0, section.indexOf('\n'))
      const text = section.slice(name.length)
      return { name, bytes: minifiedBytes(text), prose: proseOf(text).bytes }
    })
    .sort((a, b) => b.bytes - a.bytes)
  const total = { name: 'all', bytes: sum(files, 'bytes'), prose: sum(files, 'prose') }
  return {
    title: 'What is in tix-webhooks/hono, by source file',
    columns: ['file', 'bytes, minified', 'messages', 'share'],
    rows: [...files, total].map(({ name, bytes, prose }) => [
      name,
      whole(bytes),
      whole(prose),
      `${Math.round((100 * prose) / bytes)} %`,
    ]),
    notes: ['Before gzip.'],
  }
}

function minifiedBytes(text: string): number {
  return Buffer.byteLength(transformSync(text, { minifyWhitespace: true, legalComments: 'none' }).code)
}

function sum<Key extends string>(items: readonly Record<Key, number>[], key: Key): number {
  return items.reduce((total, item) => total + item[key], 0)
}
