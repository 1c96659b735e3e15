import { useEffect, useState } from 'preact/hooks'
import { get, post } from '../data/api.js'
import type { ClockView, State } from '../data/views.js'
import { setClock, useVirtual } from '../data/virtual-time.js'
import { count, day, span } from '../data/words.js'
import { Action } from '../parts/action.js'
import { tell } from '../parts/notice.js'

const PROGRESS_MS = 250

interface Advanced extends ClockView {
  readonly attempts?: { readonly delivered: number; readonly failed: number }
}

/** How far an advance has come. */
interface Progress {
  readonly toMs: number
  readonly fromMs: number
  readonly nowMs: number
  readonly answered: number
}

type SetProgress = (progress: Progress | undefined) => void
let setProgress: SetProgress = () => {}

/** Moves the virtual time, and shows how far it has come while answers are awaited. */
export async function advance(change: { advance: string } | { to: string }, toMs: number): Promise<void> {
  const { now } = await get<ClockView>('/clock')
  const fromMs = Date.parse(now)
  const asking = setInterval(async () => {
    const clock = await get<ClockView>('/clock').catch(() => undefined)
    if (clock?.advancing === undefined) return
    setClock(clock)
    const { delivered, failed } = clock.advancing
    setProgress({ fromMs, toMs, nowMs: Date.parse(clock.now), answered: delivered + failed })
  }, PROGRESS_MS)
  setProgress({ fromMs, toMs, nowMs: fromMs, answered: 0 })
  try {
    const done = await post<Advanced>('/clock', change)
    const { delivered = 0, failed = 0 } = done.attempts ?? {}
    setClock(done)
    const passed = span(Date.parse(done.now) - fromMs)
    tell(
      delivered + failed === 0
        ? `${passed} passed, without an attempt.`
        : `${passed} passed: ${count(delivered + failed, 'attempt')}, ${delivered} accepted, ${failed} not.`,
    )
  } finally {
    clearInterval(asking)
    setProgress(undefined)
  }
}

/** The virtual time, what comes next, and what moves it. */
export function Clock({
  clock,
  nextAttempt,
}: {
  readonly clock: ClockView
  readonly nextAttempt: State['next_attempt']
}) {
  const [progress, set] = useState<Progress>()
  useEffect(() => {
    setProgress = set
  }, [])
  const by = (hours: number) => () =>
    advance({ advance: `${hours}h` }, Date.parse(clock.now) + hours * 3_600_000)
  const { frozen } = clock
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for a form
    <div role="group" aria-label="Clock" class="clock">
      <VirtualTime isFrozen={frozen} />
      <div class="buttons">
        <Action
          look="main"
          disabled={nextAttempt === null}
          title={
            nextAttempt === null ? 'No delivery waits for an attempt' : 'To the next attempt, and through it'
          }
          run={() => nextAttempt && advance({ to: nextAttempt.at }, Date.parse(nextAttempt.at))}
        >
          Next attempt
        </Action>
        <Action run={by(1)}>1 hour</Action>
        <Action run={by(24)}>24 hours</Action>
        <Action run={by(72)}>72 hours</Action>
        {/* A key of its own for each: what is pressed must not become the other one under the pointer. */}
        {frozen ? (
          <Action key="run" run={() => post('/clock', { run: true })}>
            Run
          </Action>
        ) : (
          <Action key="freeze" run={() => post('/clock', { freeze: true })}>
            Freeze
          </Action>
        )}
      </div>
      {progress === undefined ? <Next clock={clock} /> : <Advancing {...progress} />}
    </div>
  )
}

function VirtualTime({ isFrozen }: { readonly isFrozen: boolean }) {
  const now = useVirtual((nowMs) => new Date(nowMs).toISOString().slice(0, 19))
  const date = new Date(`${now}Z`)
  return (
    <p class="virtual-time">
      <time dateTime={`${now}Z`} title="Virtual time, UTC">
        <span class="day">
          {date.toLocaleDateString('en-GB', { weekday: 'short', timeZone: 'UTC' })} {day(date)}{' '}
          {now.slice(0, 4)}
        </span>{' '}
        <strong>{now.slice(11)}</strong> <abbr title="Coordinated Universal Time">UTC</abbr>
      </time>
      <span class={`badge ${isFrozen ? 'cool' : 'good'}`}>{isFrozen ? 'frozen' : 'running'}</span>
    </p>
  )
}

function Next({ clock: { next_at, next_what } }: { readonly clock: ClockView }) {
  const left = useVirtual((nowMs) => (next_at === null ? '' : span(Math.max(0, Date.parse(next_at) - nowMs))))
  return (
    <p class="next">
      {next_at === null ? 'Nothing is due.' : `Next in ${left}: ${next_what ?? 'what is due'}`}
    </p>
  )
}

function Advancing({ fromMs, toMs, nowMs, answered }: Progress) {
  return (
    <div class="advancing">
      <progress
        aria-label="Advance"
        max={1}
        value={Math.min(1, (nowMs - fromMs) / Math.max(1, toMs - fromMs))}
      />
      <span>{count(answered, 'answer')}</span>
      <Action look="small" run={() => post('/clock', { stop: true })}>
        Break off
      </Action>
    </div>
  )
}
