import type { Conformance } from '../app/contract.js'
import { createClient } from '../cases/client.js'
import { type Cost, measureCost } from '../cases/cost.js'
import { runDeliveries } from '../cases/deliveries.js'
import { cases } from '../cases/index.js'
import { runRecipe } from '../cases/recipe.js'
import type { Inside, Lane } from './lane.js'
import { startServer } from './server.js'

/** A cell of the table. */
export type Cell = 'passed' | 'failed' | 'unless'

/** How a lane did. */
export interface Result {
  readonly lane: Lane
  /** In the order of the cases. */
  readonly cells: readonly Cell[]
  readonly inside: ReadonlyMap<Inside, Conformance>
  /** The backends through which events ran once. */
  readonly backends: readonly string[]
  readonly costs: readonly Cost[]
  /** Of the file of examples/frameworks, if the lane has one. */
  readonly recipe: Cell | undefined
  /** One line or more for each failure. */
  readonly failures: readonly string[]
  readonly seconds: number
}

const CANNOT: Conformance = { passed: 0, failures: [{ id: '', message: 'this server cannot run them' }] }

/** Starts the server of a lane and runs everything on it. */
export async function testLane(lane: Lane, env: NodeJS.ProcessEnv): Promise<Result> {
  const startedAtMs = performance.now()
  const failures: string[] = []
  const passed: string[] = []
  const costs: Cost[] = []
  const inside = new Map<Inside, Conformance>()
  let recipe: Cell | undefined = lane.recipe === undefined ? undefined : 'failed'
  let cells: Cell[] = cases.map(() => (lane.isRecipeOnly ? 'unless' : 'failed'))
  try {
    const server = await startServer(lane, env)
    try {
      const at = lane.mountedAt ?? ''
      const client = createClient(server.port, { hooks: `${at}/hooks/`, controls: `${at}/control/` })
      // Some hosts load a route only when it is first asked for.
      if (!lane.isRecipeOnly) await client.log()
      if (!lane.isRecipeOnly) cells = await Promise.all(cases.map(runCase))
      if (lane.recipe !== undefined) {
        await (lane.check ?? runRecipe)(createClient(server.port, { hooks: lane.recipe }))
        recipe = 'passed'
      }
      for (const name of lane.inside) {
        const found = await client.control<Conformance | null>(name)
        inside.set(name, found ?? CANNOT)
      }

      for (const name of lane.backends ?? []) {
        try {
          await runDeliveries(client, name, name.endsWith('inbox'))
          passed.push(name)
        } catch (error) {
          failures.push(`deliveries through ${name}: ${error instanceof Error ? error.message : error}`)
        }
      }

      for (const name of lane.measured ?? []) costs.push(await measureCost(client, name))

      async function runCase({ name, unless, run }: (typeof cases)[number]): Promise<Cell> {
        if (unless !== undefined && lane.traits?.[unless]) return 'unless'
        try {
          await run(client)
          return 'passed'
        } catch (error) {
          failures.push(`${name}: ${error instanceof Error ? error.message : error}`)
          return 'failed'
        }
      }
    } finally {
      server.stop()
    }
    if (failures.length > 0 && process.env.LANES_VERBOSE) failures.push(server.printed())
  } catch (error) {
    failures.push(error instanceof Error ? error.message : String(error))
  }
  for (const [name, { failures: found }] of inside) {
    for (const { id, message } of found) failures.push(`${name} ${id}: ${message}`)
  }
  return {
    lane,
    cells,
    inside,
    backends: passed,
    costs,
    recipe,
    failures,
    seconds: (performance.now() - startedAtMs) / 1_000,
  }
}
