import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { reasonOf } from '../data/reason.js'
import { notifyError } from './notice.js'

interface ActionProps {
  readonly run: () => unknown
  readonly children: ComponentChildren
  /** `main`: the usual choice. `danger`: it cannot be undone, so a second click confirms it. */
  readonly look?: 'main' | 'danger' | 'small' | undefined
  readonly title?: string | undefined
  readonly disabled?: boolean | undefined
}

/** A button that does something, and says what went wrong. It keeps the focus while it works. */
export function Action({ run, children, look, title, disabled = false }: ActionProps) {
  const [isBusy, setBusy] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const isRunning = useRef(false)
  const press = async (): Promise<void> => {
    if (isRunning.current || disabled) return
    if (look === 'danger' && !isAsking) return setAsking(true)
    setAsking(false)
    isRunning.current = true
    setBusy(true)
    try {
      await run()
    } catch (error) {
      notifyError(reasonOf(error))
    } finally {
      isRunning.current = false
      setBusy(false)
    }
  }
  return (
    <button
      type="button"
      class={look}
      title={title}
      aria-busy={isBusy}
      aria-disabled={disabled || isBusy}
      onClick={press}
      onBlur={() => setAsking(false)}
    >
      {isAsking ? <>Really? {children}</> : children}
    </button>
  )
}
