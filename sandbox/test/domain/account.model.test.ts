/** @module-tag slow */
import fc from 'fast-check'
import { test } from 'vitest'
import { runs } from '../../../test/support/runs.js'
import { HOUR_MS, ticketing } from '../support/ticketing.js'
import {
  Advance,
  Cancel,
  Create,
  Order,
  Publish,
  Reschedule,
  Restart,
} from '../support/ticketing-commands.js'
import type { Model, Real } from '../support/ticketing-model.js'

const hours = (from: number, to: number) => fc.integer({ min: from, max: to }).map((count) => count * HOUR_MS)

const choice = fc.nat(7)
const commands = [
  fc
    .tuple(
      hours(-10, 60),
      hours(1, 10),
      fc.option(hours(-5, 60), { nil: undefined }),
      fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 3 }),
    )
    .map((args) => new Create(...args)),
  choice.map((at) => new Publish(at)),
  choice.map((at) => new Cancel(at)),
  fc.tuple(choice, hours(-10, 30)).map((args) => new Reschedule(...args)),
  fc.tuple(choice, fc.nat(2), fc.integer({ min: 1, max: 5 })).map((args) => new Order(...args)),
  fc.tuple(choice, fc.nat(2), fc.constant(1)).map((args) => new Order(...args)),
  hours(0, 40).map((ms) => new Advance(ms)),
  fc.constant(new Restart()),
]

test('[S17] [S18] [S38] [S40] [S43] [S46] [S53] [N48] [N67] [N80] [N82] [N83] [N84] [N85] [N86] [N87] [N88] [N90] [N91] [N92] [N93] an account behaves as a simple model of it, and sends the same webhooks', async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 40, size: 'max' }), async (script) => {
      const service = ticketing()
      const setup = () => ({
        model: { nowMs: service.clock.now(), events: [], told: [] } satisfies Model,
        real: { service, created: [] } satisfies Real,
      })
      await fc.asyncModelRun(setup, script)
    }),
    { numRuns: runs(120) },
  )
}, 15_000)
