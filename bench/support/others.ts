import { readdirSync, readFileSync } from 'node:fs'

/** The unit of /proc: a hundredth of a second. */
const TICK_MS = 10
/** The share of one core that other processes may take in a round. */
const SHARE = 0.1
/** The error of a count in ticks. */
const ERROR_MS = 2 * TICK_MS

/** Whether the system counts what other processes take: Linux does. */
export const canWatch = read('/proc/stat') !== undefined

/**
 * Starts to watch the machine. The function it returns says whether others than this process and its descendants, which include
 * its servers, have taken more than their share since. What the host of a virtual machine takes counts as theirs.
 */
export function watchOthers(): () => boolean {
  if (!canWatch) return () => false
  const startMs = performance.now()
  const before = ticksOfOthers()
  return () => {
    const takenMs = (ticksOfOthers() - before) * TICK_MS
    return takenMs > SHARE * (performance.now() - startMs) + ERROR_MS
  }
}

function ticksOfOthers(): number {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  // One may have ended meanwhile.
  const stats = processes.flatMap((name) => read(`/proc/${name}/stat`) ?? [])
  return ticksOfAll(read('/proc/stat') ?? '') - ticksOfFamily(stats, process.pid)
}

/** The time that all cores were busy, from the text of /proc/stat. */
function ticksOfAll(stat: string): number {
  const [, user = 0, nice = 0, system = 0, _idle, _waiting, irq = 0, softirq = 0, steal = 0] =
    stat.split('\n')[0]?.split(/\s+/).map(Number) ?? []
  return user + nice + system + irq + softirq + steal
}

/** The time of a process and its descendants, including those that have ended, from the texts of /proc/<pid>/stat. */
function ticksOfFamily(stats: readonly string[], root: number): number {
  const processes = new Map(
    stats.map((stat) => {
      // Behind the name of the program, which may contain anything.
      const fields = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .map(Number)
      const ticks = fields.slice(11, 15).reduce((sum, field) => sum + field, 0)
      return [Number.parseInt(stat, 10), { parent: fields[1] ?? 0, ticks }]
    }),
  )
  const isOfFamily = (pid: number): boolean =>
    pid === root || (processes.has(pid) && isOfFamily(processes.get(pid)?.parent ?? 0))
  return [...processes].reduce((sum, [pid, { ticks }]) => (isOfFamily(pid) ? sum + ticks : sum), 0)
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
