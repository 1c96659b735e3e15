import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Group } from '../support/bench.js'
import { times, whole } from '../support/figures.js'
import { judged } from '../support/goal.js'
import type { HeapReport, HeapTask } from './heap-child.js'

/** The memory that deliveries leave behind in a receiver: none. */
export const heap: Group = {
  id: 'heap',
  async measure(bench) {
    const first = bench.size(1_000_000, 10_000)
    const task: HeapTask = { first, last: 10 * first, seconds: 200 }
    bench.progress(`heap: ${whole(task.last)} deliveries, or as many as there are in ${task.seconds} s`)
    const [early, late] = await inItsOwnProcess(task)
    const more = late.deliveries - early.deliveries
    const ratio = [late.bytes / early.bytes]
    return [
      {
        title: 'The heap of a receiver',
        columns: ['after', 'KB', 'after', 'KB', 'ratio', 'goal', '', 'bytes per further delivery'],
        rows: [
          [
            ...[early, late].flatMap(({ deliveries, bytes }) => [whole(deliveries), whole(bytes / 1000)]),
            ...[...ratio.map(times), ...judged(ratio, { atMost: 1.05 })],
            ((late.bytes - early.bytes) / more).toFixed(3),
          ],
        ],
        notes: [
          'In a process of its own, garbage collected; with a memory store of at most 10,000 records, so that these do not count. One signed order is delivered again and again, under another key each time.',
          ...(late.deliveries < task.last
            ? [`There was no time for ${whole(task.last)}: it is stopped after ${task.seconds} s.`]
            : []),
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
