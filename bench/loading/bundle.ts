import { transformSync } from 'esbuild'
import { gzipped, workerBundle } from '../../test/support/worker-bundle.js'
import type { Bench } from '../support/bench.js'
import { timeBeside } from '../support/comparison.js'
import { whole } from '../support/figures.js'
import type { Goal } from '../support/goal.js'
import type { Table } from '../support/report.js'
import { proseOf } from './prose.js'

const GOAL_BYTES = 16_200
const GOAL: Goal = { atMost: 1 }

const ADAPTER = "export { tixWebhooks } from 'tix-webhooks/hono'"

/** The size of our upload to a Worker. Exact, so measured once. */
export async function workerBundles(bench: Bench): Promise<readonly Table[]> {
  bench.progress('loading: bundles')
  const minified = await workerBundle(ADAPTER, { external: ['hono'] })
  const ours = { name: 'tix-webhooks/hono, hono external', figures: [gzipped(minified)] }
  const bare = { name: 'the same without its messages', figures: [gzipped(proseOf(minified).without)] }
  return [
    {
      title: 'The bundle of a Worker',
      ratio: 'Its bytes, to others',
      unit: 'bytes',
      comparisons: [
        timeBeside(ours, { name: 'the goal', figures: [GOAL_BYTES] }, GOAL),
        timeBeside(ours, bare),
      ],
      notes: [
        'Minified by esbuild, then gzip at level 9: exact. Messages are the text in string and template literals of three words or more: the texts of errors.',
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
    isDetail: true,
  }
}

function minifiedBytes(text: string): number {
  return Buffer.byteLength(transformSync(text, { minifyWhitespace: true, legalComments: 'none' }).code)
}

function sum<Key extends string>(items: readonly Record<Key, number>[], key: Key): number {
  return items.reduce((total, item) => total + item[key], 0)
}
