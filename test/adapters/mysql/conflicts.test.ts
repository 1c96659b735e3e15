import { expect, test } from 'vitest'
import { retryConflicts } from '../../../adapters/mysql/conflicts.js'

const deadlock = Object.assign(new Error('Deadlock found'), { errno: 1213 })

test.each([
  { fails: 9, error: deadlock, canRetry: true, calls: 10, isDone: true },
  { fails: 10, error: deadlock, canRetry: true, calls: 10, isDone: false },
  { fails: 1, error: deadlock, canRetry: false, calls: 1, isDone: false },
  { fails: 1, error: new Error('Table is missing'), canRetry: true, calls: 1, isDone: false },
])('work that fails $fails times by $error.message is called $calls times', async (row) => {
  let calls = 0
  const done = retryConflicts(
    async () => {
      calls += 1
      if (calls <= row.fails) throw row.error
      return 'done'
    },
    () => row.canRetry,
  )
  await (row.isDone ? expect(done).resolves.toBe('done') : expect(done).rejects.toBe(row.error))
  expect(calls).toBe(row.calls)
})
