import { useState } from 'preact/hooks'
import { get, post } from '../data/api.js'
import type { ClockView, State } from '../data/views.js'
import { setClock, useVirtual } from '../data/virtual-time.js'
import { count, span } from '../data/words.js'
import { Action } from '../parts/action.js'
import { notify } from '../parts/notice.js'

interface Advanced extends ClockView {
  readonly attempts?: { readonly delivered: number; readonly failed: number }
}

/** The span of time that an advance passes through. */
interface Passage {
  readonly fromMs: number
  readonly toMs: number
}

let showPassage: (passage: Passage | undefined) => void = () => {}
let current: Passage | undefined

function setPassage(passage: Passage | undefined): void {
  current = passage
  showPassage(passage)
}

/** Removes the progress of an advance that a reset has ended. */
export const endPassage = (): void => setPassage(undefined)

/** Moves the virtual time; how far it has come is shown while answers are awaited. */
export async function advance(change: { advance: string } | { to: string }, toMs: number): Promise<void> {
  const { now } = await get<ClockView>('/clock')
  const fromMs = Date.parse(now)
  const passage = { fromMs, toMs }
  setPassage(passage)
  try {
    const done = await post<Advanced>('/clock', change)
    const { delivered = 0, failed = 0 } = done.attempts ?? {}
    if (current !== passage) return
    setClock(done)
    const passed = span(Date.parse(done.now) - fromMs)
    notify(
      delivered + failed === 0
        ? `${passed} passed, without an attempt.`
        : `${passed} passed: ${count(delivered + failed, 'attempt')}, ${delivered} accepted, ${failed} not accepted.`,
    )
  } finally {
    if (current === passage) endPassage()
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
  const [passage, set] = useState<Passage>()
  showPassage = set
  const by = (hours: number) => () =>
    advance({ advance: `${hours}h` }, Date.parse(clock.now) + hours * 3_600_000)
  const { frozen } = clock
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for a form
    <div role="group" aria-label="Clock" class="clock">
      <VirtualTime isFrozen={frozen} />
      {passage === undefined ? <Next clock={clock} /> : <Advancing {...passage} clock={clock} />}
      <div class="buttons">
        <span class="dim">Advance</span>
        <Action
          look="main"
          disabled={nextAttempt === null}
          title={
            nextAttempt === null
              ? 'No delivery is waiting for an attempt'
              : 'To the next attempt, and through it'
          }
          run={() => nextAttempt && advance({ to: nextAttempt.at }, Date.parse(nextAttempt.at))}
        >
          Next attempt
        </Action>
        <Action run={by(1)}>+1 hour</Action>
        <Action run={by(24)}>+24 hours</Action>
        <Action run={by(72)}>+72 hours</Action>
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
    </div>
  )
}

function VirtualTime({ isFrozen }: { readonly isFrozen: boolean }) {
  const now = useVirtual((nowMs) => new Date(nowMs).toUTCString())
  return (
    <p class="virtual-time">
      <time dateTime={new Date(now).toISOString()} title="Virtual time, UTC">
        <span class="day">{now.slice(0, 16)}</span> <strong>{now.slice(17, 25)}</strong>{' '}
        <span class="dim">UTC</span>
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

function Advancing({ fromMs, toMs, clock }: Passage & { readonly clock: ClockView }) {
  const { delivered = 0, failed = 0 } = clock.advancing ?? {}
  return (
    <div class="advancing">
      <progress
        aria-label="Advance"
        max={Math.max(1, toMs - fromMs)}
        value={Math.max(0, Date.parse(clock.now) - fromMs)}
      />
      <span>{count(delivered + failed, 'answer')}</span>
      <Action look="small" run={() => post('/clock', { stop: true })}>
        Stop
      </Action>
    </div>
  )
}
