import { type AttemptView, type DeliveryView, isAccepted } from '../data/views.js'
import { useVirtual } from '../data/virtual-time.js'
import { moment } from '../data/words.js'

const WINDOW_MS = 72 * 3_600_000
const LINE_Y = 24

/** The labelled times, in minutes. In a narrow window the style hides every second one. */
const TICKS = [0, 5, 30, 120, 360, 720, 1440, 2880, 4320]

/** The position of a time. The cube root puts seconds and days on one line, with growing gaps about equally far apart. */
function placeOf(ms: number): string {
  return `${(3 + 94 * Math.cbrt(Math.min(Math.max(ms, 0), WINDOW_MS) / WINDOW_MS)).toFixed(1)}%`
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
  const placeAt = (at: string) => placeOf(Date.parse(at) - firstMs)
  const now = useVirtual((nowMs) => placeOf(nowMs - firstMs))
  return (
    <figure class="axis">
      <svg role="img" aria-label="72 hours">
        <title>72 hours</title>
        <line class="line" x1={placeOf(0)} x2={placeOf(WINDOW_MS)} y1={LINE_Y} y2={LINE_Y} />
        <line class="past" x1={placeOf(0)} x2={now} y1={LINE_Y} y2={LINE_Y} />
        {TICKS.map((minutes) => {
          const x = placeOf(minutes * 60_000)
          return (
            <g key={minutes} class="tick">
              <line x1={x} x2={x} y1="34" y2="39" />
              <text x={x} y="53">
                {minutes < 60 ? `${minutes} min` : `${minutes / 60} h`}
              </text>
            </g>
          )
        })}
        <line class="now" x1={now} x2={now} y1="9" y2="33" />
        <text class="now" x={now} y="11">
          ▾
        </text>
        {planned.map((at) => (
          <circle key={at} class="planned" cx={placeAt(at)} cy={LINE_Y} r="5">
            <title>planned: {moment(at)}</title>
          </circle>
        ))}
        {delivery.attempts.map((attempt) => (
          <Made
            key={attempt.id}
            attempt={attempt}
            x={placeAt(attempt.virtual_time)}
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

/** A dot for an accepted attempt, a cross for any other, so that no colour is needed to tell them apart. */
function Made({ attempt, x, isChosen }: { attempt: AttemptView; x: string; isChosen: boolean }) {
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
        <text x={x} y={LINE_Y + 5}>
          ✕
        </text>
      )}
    </g>
  )
}
