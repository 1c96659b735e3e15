import { cases } from '../cases/index.js'
import { versionsOf } from './lane.js'
import type { Cell, Result } from './test-lane.js'

const MARKS: Readonly<Record<Cell, string>> = { passed: '✓', failed: '✗', unless: '–' }

/** The table of lane and case for a terminal, with what failed. */
export function textTable(results: readonly Result[]): string {
  const width = Math.max(...results.map(({ lane }) => lane.name.length))
  const numbers = cases.map((_, index) => String(index + 1).padStart(3)).join('')
  const rows = results.map(({ lane, cells, inside, backends, recipe, seconds }) => {
    const marks = cells.map((cell) => MARKS[cell].padStart(3)).join('')
    const others = [...inside].map(([name, found]) => `${name} ${shareOf(found)}`)
    if (backends.length > 0) others.push(`deliveries through ${backends.join(', ')}`)
    if (recipe !== undefined) others.push(`recipe ${MARKS[recipe]}`)
    return [lane.name.padEnd(width), marks, ` ${seconds.toFixed(0).padStart(3)} s `, others.join(', ')].join(
      '',
    )
  })
  const legend = cases.map(({ name }, index) => `${String(index + 1).padStart(3)}  ${name}`)
  const failed = results.flatMap(({ lane, failures }) =>
    failures.map((failure) => `✗ ${lane.name}: ${failure}`),
  )
  return [`${' '.repeat(width)}${numbers}`, ...rows, '', ...legend, '', ...failed].join('\n')
}

/** The tables for RESULTS.md: of the hosts, and of the stores that need a server. */
export function markdownTable(results: readonly Result[]): string {
  const head = [
    '| host | versions | cases | adapter cases | store cases: memory | SQLite | recipe |',
    '|---|---|---|---|---|---|---|',
  ]
  const rows = results.map(({ lane, cells, inside, recipe }) => {
    const ran = cells.filter((cell) => cell !== 'unless')
    const passed = ran.filter((cell) => cell === 'passed').length
    const columns = [
      lane.name,
      versionsOf(lane),
      ran.length === 0 ? '' : `${passed}/${ran.length}`,
      ...(['adapter-cases', 'store-cases/memory', 'store-cases/sqlite'] as const).map((name) => {
        const found = inside.get(name)
        return found === undefined ? '' : shareOf(found)
      }),
      recipe === undefined ? '' : MARKS[recipe],
    ]
    return `|${columns.map((column) => (column === '' ? ' ' : ` ${column} `)).join('|')}|`
  })
  return [...head, ...rows, '', ...storeRows(results)].join('\n')
}

const TITLES: Readonly<Record<string, string>> = {
  d1: 'D1: `d1Store`',
  'durable-object': 'Durable Objects: `durableObjectStore`',
  upstash: '`@upstash/redis`: `redisStore`',
  pg: '`pg`: `postgresStore`',
  'pg-inbox': '`pg`: `postgresInbox`',
  'postgres.js': 'postgres.js: `postgresStore`',
  'postgres.js-inbox': 'postgres.js: `postgresInbox`',
  hyperdrive: '`pg` through a Hyperdrive binding: `postgresStore`',
  'hyperdrive-inbox': '`pg` through a Hyperdrive binding: `postgresInbox`',
  neon: "Neon's `Pool`: `postgresStore`",
  'neon-inbox': "Neon's `Pool`: `postgresInbox`",
  pgbouncer: '`pg` through PgBouncer: `postgresStore`',
  'pgbouncer-inbox': '`pg` through PgBouncer: `postgresInbox`',
  'pgbouncer-postgres.js': 'postgres.js through PgBouncer: `postgresStore`',
  'pgbouncer-postgres.js-inbox': 'postgres.js through PgBouncer: `postgresInbox`',
  'bun-sql': '`Bun.SQL`: `postgresStore`',
  'bun-sql-inbox': '`Bun.SQL`: `postgresInbox`',
  'bun-redis': '`Bun.RedisClient`: `redisStore`',
}

/** One row for each store, with the hosts that it did as well on. */
function storeRows(results: readonly Result[]): string[] {
  const hosts = new Map<string, string[]>()
  for (const { lane, inside, backends } of results) {
    for (const name of lane.backends ?? []) {
      const found = inside.get(`store-cases/${name}`)
      const cases = found === undefined ? ' ' : ` ${shareOf(found)} `
      const row = `| ${TITLES[name] ?? name} |${cases}| ${MARKS[backends.includes(name) ? 'passed' : 'failed']} |`
      hosts.set(row, [...(hosts.get(row) ?? []), lane.name])
    }
  }
  const rows = [...hosts].map(([row, names]) => `${row} ${names.join('; ')} |`)
  return ['| store or inbox | store cases | deliveries | hosts |', '|---|---|---|---|', ...rows]
}

function shareOf({ passed, failures }: { passed: number; failures: readonly unknown[] }): string {
  return `${passed}/${passed + failures.length}`
}
