import { StoreError } from '../../../src/index.js'
import { within } from '../../../src/internal.js'

/** @throws StoreError when there is no answer after `ms` */
export function answered<T>(ms: number, answer: Promise<T>): Promise<T> {
  return within(answer, ms, () => {
    throw new StoreError('store_unavailable', `Postgres did not answer within ${ms / 1000} s.`)
  })
}
