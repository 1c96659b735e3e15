import {
  type AdapterAnswer,
  type AdapterHarness,
  adapterCases,
  type MountedAdapter,
} from 'tix-webhooks/testing'
import { harnessOf, PlainAdapter } from './plain-adapter.js'

/** A right answer to what is handled. */
export const HANDLED: AdapterAnswer = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  text: '{"outcome":"handled"}',
}

/** Apps that are counted, with something in the place of their parts. */
export function counted(parts: Partial<MountedAdapter> = {}, timeoutSeconds = 4) {
  const correct = harnessOf(PlainAdapter)
  const count = { mounted: 0, closed: 0 }
  const harness: AdapterHarness = {
    timeoutSeconds,
    async mount(options) {
      const app = await correct.mount(options)
      count.mounted += 1
      const close = async (): Promise<unknown> => {
        count.closed += 1
        return (parts.close ?? app.close)()
      }
      return { send: parts.send ?? app.send, close }
    },
  }
  return { harness, count }
}

/** Why a case fails on a harness. */
export async function failureOf(id: string, harness: AdapterHarness): Promise<Error> {
  const one = adapterCases.find((candidate) => candidate.id === id)
  if (one === undefined) throw new Error(`there is no case ${id}`)
  return one.run(harness).then(
    () => new Error(`${id} did not fail`),
    (error: Error) => error,
  )
}
