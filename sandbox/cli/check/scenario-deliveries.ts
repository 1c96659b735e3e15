import { makeScenario, type Scenario, type ScenarioName, type ScenarioSource } from 'tix-webhooks/testing'
import { isDebatable } from '../../internal.js'

/** Scenarios whose point is that an event is sent again, or how two of them are related. */
const OF_ONE_MAKING: readonly ScenarioName[] = ['duplicate', 'concurrent-burst', 'reordered', 'tied']

/** Scenarios that send one event in several forms, unless the source gives another. */
export const OF_ONE_EVENT: readonly ScenarioName[] = ['whitespace', 'unicode', 'two-v1']

/**
 * Makes a scenario for any receiver, judged by its answers alone: each delivery carries an event of its own unless
 * the scenario is about repeating one, because an event that was sent before may be answered otherwise; and nothing is sent that a
 * correct receiver may either handle or refuse.
 *
 * @throws TypeError if there is no such scenario, or an option is invalid
 */
export async function scenarioForAnyReceiver(
  name: ScenarioName | (string & {}),
  source: ScenarioSource & { body: () => string },
): Promise<Scenario> {
  const made = await makeScenario(name, source)
  const deliveries = [...made.deliveries]
  if (!OF_ONE_MAKING.includes(made.name)) {
    for (const index of deliveries.keys()) {
      const another = await makeScenario(name, source)
      deliveries.splice(index, 1, ...another.deliveries.slice(index, index + 1))
    }
  }
  const sent = deliveries.filter(({ body }) => !isDebatable(made.name, body))
  return {
    ...made,
    deliveries: sent,
    async deliver(send) {
      if (made.isBurst) return Promise.all(sent.map((delivery) => send(delivery)))
      const answers = []
      for (const delivery of sent) answers.push(await send(delivery))
      return answers
    },
  }
}
