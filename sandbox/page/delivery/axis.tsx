import { type AttemptView, type DeliveryView, isAccepted } from '../data/views.js'
import { useVirtual } from '../data/virtual-time.js'
import { moment } from '../data/words.js'
import { useWidth } from '../parts/use-width.js'

const HOUR = 3_600_000
const WINDOW_MS = 72 * HOUR
const WIDTH = 640
const HEIGHT = 58
const EDGE = 14
const LINE_Y = 24
/** The least distance between two labels below the line. */
const TICK_GAP = 46

const TICKS = [
  { ms: 0, says: '0' },
  { ms: 5 * 60_000, says: '5 min' },
  { ms: HOUR / 2, says: '30 min' },
  { ms: 2 * HOUR, says: '2 h' },
  { ms: 6 * HOUR, says: '6 h' },
  { ms: 12 * HOUR, says: '12 h' },
  { ms: 24 * HOUR, says: '24 h' },
  { ms: 48 * HOUR, says: '48 h' },
  { ms: WINDOW_MS, says: '72 h' },
]

/** Seconds and days on one line: by the cube root, steps that grow stand about as far from each other. */
function placer(width: number): (ms: number) => number {
  return (ms) => {
    const part = Math.cbrt(Math.min(Math.max(ms, 0), WINDOW_MS) / WINDOW_MS)
    return Math.round((EDGE + part * (width - 2 * EDGE)) * 10) / 10
  }
}

function ticksOf(xOf: (ms: number) => number): typeof TICKS {
  const end = xOf(WINDOW_MS) - TICK_GAP
  let free = 0
  return TICKS.filter(({ ms }) => {
    const x = xOf(ms)
    if (ms !== WINDOW_MS && (x < free || x > end)) return false
    free = x + TICK_GAP
    return true
  })
}

interface AxisProps {
  readonly delivery: DeliveryView
  readonly planned: readonly string[]
  /** The id of the attempt that is shown. */
  readonly chosen: string | undefined
}

/** The 72 hours of a delivery on one line: attempts that were made, and those that are planned. */
export function Axis({ delivery, planned, chosen }: AxisProps) {
  const firstMs = Date.parse(delivery.first_at)
  const { ref, width } = useWidth<HTMLElement>(WIDTH)
  const xOf = placer(width)
  const now = useVirtual((nowMs) => Math.round(xOf(nowMs - firstMs)))
  return (
    <figure class="axis" ref={ref}>
      <svg width={width} height={HEIGHT} role="img" aria-label="72 hours">
        <title>72 hours</title>
        <line class="line" x1={EDGE} x2={width - EDGE} y1={LINE_Y} y2={LINE_Y} />
        <line class="past" x1={EDGE} x2={now} y1={LINE_Y} y2={LINE_Y} />
        {ticksOf(xOf).map(({ ms, says }) => (
          <g key={says} class="tick">
            <line x1={xOf(ms)} x2={xOf(ms)} y1={LINE_Y + 10} y2={LINE_Y + 15} />
            <text x={xOf(ms)} y={LINE_Y + 29} text-anchor={ms === WINDOW_MS ? 'end' : 'middle'}>
              {says}
            </text>
          </g>
        ))}
        <path class="now" d={`M${now - 4} 3h8l-4 6z M${now} 9v${LINE_Y}`} />
        {planned.map((at) => (
          <circle key={at} class="planned" cx={xOf(Date.parse(at) - firstMs)} cy={LINE_Y} r="5">
            <title>planned: {moment(at)}</title>
          </circle>
        ))}
        {delivery.attempts.map((attempt) => (
          <Made
            key={attempt.id}
            attempt={attempt}
            x={xOf(Date.parse(attempt.virtual_time) - firstMs)}
            isChosen={attempt.id === chosen}
          />
        ))}
      </svg>
      <figcaption>
        <span class="key made good">accepted</span>
        <span class="key made bad">not accepted</span>
        {planned.length > 0 && <span class="key planned">planned</span>}
        <span class="key now">now</span>
      </figcaption>
    </figure>
  )
}

/** A dot where it was accepted, a cross where it was not: no colour is needed to tell them apart. */
function Made({ attempt, x, isChosen }: { attempt: AttemptView; x: number; isChosen: boolean }) {
  const isGood = isAccepted(attempt)
  const result = attempt.response?.status ?? attempt.error?.code
  return (
    <g class={`made ${isGood ? 'good' : 'bad'}`}>
      <title>
        {moment(attempt.virtual_time)}: {result}
      </title>
      {isChosen && <circle class="chosen" cx={x} cy={LINE_Y} r="10" />}
      {isGood ? (
        <circle cx={x} cy={LINE_Y} r="6" />
      ) : (
        <path d={`M${x - 5} ${LINE_Y - 5}l10 10m0 -10l-10 10`} />
      )}
    </g>
  )
}
