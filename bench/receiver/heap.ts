import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Group } from '../support/bench.js'
import { type Measured, timeBeside } from '../support/comparison.js'
import { whole } from '../support/figures.js'
import type { HeapReport, HeapTask } from './heap-child.js'

/** The memory that deliveries leave behind in a receiver: none. */
export const heap: Group = {
  id: 'heap',
  async measure(bench) {
    const first = bench.size(150_000, 10_000)
    const task: HeapTask = { first, last: 10 * first, seconds: 60 }
    bench.progress(`heap: ${whole(task.last)} deliveries, or as many as there are in ${task.seconds} s`)
    const [early, late] = await inItsOwnProcess(task)
    const [after, before] = [late, early].map(
      ({ deliveries, bytes }): Measured => ({
        name: `the heap after ${whole(deliveries)} deliveries`,
        figures: [bytes / 1000],
      }),
    ) as [Measured, Measured]
    return [
      {
        title: 'The heap of a receiver',
        ratio: 'Its size, to that after a tenth of the deliveries',
        unit: 'KB',
        comparisons: [timeBeside(after, before, { atMost: 1.05 })],
        notes: [
          'In a process of its own, garbage collected, with a memory store of at most 10,000 records, so that these do not count.',
        ],
      },
    ]
  },
}

async function inItsOwnProcess(task: HeapTask): Promise<[early: HeapReport, late: HeapReport]> {
  const reports: HeapReport[] = []
  const child = fork(fileURLToPath(new URL('heap-child.ts', import.meta.url)), [JSON.stringify(task)])
  child.on('message', (report) => void reports.push(report as HeapReport))
  const [code] = await once(child, 'close')
  const [early, late] = reports
  if (code !== 0 || early === undefined || late === undefined) {
    throw new Error(`The process that measures the heap ended with ${code}.`)
  }
  return [early, late]
}
