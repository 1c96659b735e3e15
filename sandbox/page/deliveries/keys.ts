import { useLayoutEffect } from 'preact/hooks'
import { reasonOf } from '../data/reason.js'
import { go, type Route } from '../data/route.js'
import { resend } from '../delivery/resend.js'
import { notifyError } from '../parts/notice.js'

const TYPED_INTO = 'input, textarea, select, [contenteditable]'

/** j and k move the focus through the lines, Enter opens one (they are links), Escape closes it, r resends. Arrows scroll. */
export function useKeys(
  list: { current: HTMLElement | null },
  route: Route,
  chosen: string | undefined,
): void {
  // As soon as the list is drawn: an effect after the paint can miss a key.
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const at = event.target instanceof Element ? event.target : document.body
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
      if (at.closest(TYPED_INTO) !== null) return
      if (event.key === 'Escape' && chosen !== undefined) {
        go({ ...route, delivery: undefined, attempt: undefined, follow: false })
        return
      }
      const focused = at.closest<HTMLElement>('a[data-id]')
      if (event.key === 'j' || event.key === 'k')
        move(list.current, focused, chosen, event.key === 'j' ? 1 : -1)
      else if (event.key === 'r' && !event.repeat) {
        const id = focused?.dataset.id ?? chosen
        if (id !== undefined) resend(id, route).catch((error: unknown) => notifyError(reasonOf(error)))
      } else return
      event.preventDefault()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  })
}

/** Moves the focus from the line that has it, else from the one that is open, else to the first. */
function move(
  list: HTMLElement | null,
  focused: HTMLElement | null,
  chosen: string | undefined,
  step: number,
): void {
  const links = [...(list?.querySelectorAll<HTMLElement>('a[data-id]') ?? [])]
  const from = links.findIndex((link) => (focused === null ? link.dataset.id === chosen : link === focused))
  const to = from < 0 ? 0 : Math.min(Math.max(from + step, 0), links.length - 1)
  links[to]?.focus()
}
