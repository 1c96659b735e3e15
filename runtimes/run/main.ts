import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { costText } from '../cases/cost.js'
import { checkTypes } from '../types/check-types.js'
import { bundleServers } from './bundle.js'
import { ROOT } from './folders.js'
import { hostLanes, recipeLanes } from './host-lanes.js'
import { type Lane, missing } from './lane.js'
import { runtimeLanes } from './runtime-lanes.js'
import { buildHosts } from './server.js'
import { startStores } from './stores.js'
import { markdownTable, textTable } from './table.js'
import { type Result, testLane } from './test-lane.js'

const { values } = parseArgs({
  options: {
    /** Lanes whose name contains this. */
    only: { type: 'string', default: '' },
    /** How many lanes at a time. */
    at: { type: 'string', default: '3' },
    /** Leaves out the compilations, which take minutes. */
    'without-types': { type: 'boolean', default: false },
    /** Writes the tables into RESULTS.md. */
    write: { type: 'boolean', default: false },
  },
})

const all = [...runtimeLanes, ...hostLanes, ...recipeLanes]
const chosen = all.filter(({ name }) => name.toLowerCase().includes(values.only.toLowerCase()))
const lanes = chosen.filter((lane) => missing(lane) === undefined)
const skipped = chosen.filter((lane) => missing(lane) !== undefined)

await bundleServers()
await buildHosts(lanes)
const stores = await startStores(lanes)
const results = await testAll(lanes, Number(values.at)).finally(() => stores.stop())
if (results.length > 0) console.log(textTable(results))
for (const lane of skipped) console.error(`SKIPPED: ${lane.name}, because there is no ${missing(lane)}`)
const failed = results.filter(({ failures }) => failures.length > 0)
for (const cost of results.flatMap(({ costs }) => costs)) console.log(costText(cost))
console.log(`${results.length - failed.length} of ${results.length} lanes passed`)

// After the lanes, whose deadlines need the processor.
const wantsTypes = ['', 'types'].includes(values.only) && !values['without-types']
const types = wantsTypes ? await checkTypes() : []
const untyped = types.filter(({ errors }) => errors.length > 0)
for (const { name, errors } of untyped) console.error([`✗ ${name}`, ...errors].join('\n  '))
if (types.length > 0) console.log(`${types.length - untyped.length} of ${types.length} compilations passed`)

if (values.write) write(markdownTable(results))
const isIncomplete = skipped.length > 0 && process.env.CI === 'true'
if (results.length + types.length === 0 || failed.length + untyped.length > 0 || isIncomplete)
  process.exitCode = 1

/** A few lanes at a time: most of a lane is waiting for deadlines. */
async function testAll(all: readonly Lane[], atATime: number): Promise<Result[]> {
  const results: Result[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let index = next++; index < all.length; index = next++) {
      const result = await testLane(all[index] as Lane, stores.env)
      results[index] = result
      console.error(
        `${result.failures.length === 0 ? '✓' : '✗'} ${result.lane.name} ${result.seconds.toFixed(1)} s`,
      )
    }
  }
  await Promise.all(Array.from({ length: atATime }, work))
  return results
}

function write(table: string): void {
  if (skipped.length > 0 || values.only !== '') throw new Error('The table needs every lane.')
  const page = `${ROOT}runtimes/RESULTS.md`
  const text = readFileSync(page, 'utf8')
  const between = /(<!-- lanes -->\n)[\s\S]*?(<!-- \/lanes -->)/
  if (!between.test(text)) throw new Error(`${page} has no place for the table.`)
  writeFileSync(
    page,
    text.replace(between, (_, start, end) => `${start}\n${table}\n\n${end}`),
  )
}
