import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'

interface Notice {
  readonly content: ComponentChildren
  readonly isError: boolean
}

const SHOWN_MS = 6000

let show: (notice: Notice) => void = () => {}

/** Shows a success at the foot of the page, for six seconds. */
export const notify = (content: ComponentChildren): void => show({ content, isError: false })
/** Shows an error there, until it is dismissed. */
export const notifyError = (content: ComponentChildren): void => show({ content, isError: true })

export function Notices() {
  const [notice, setNotice] = useState<Notice>()
  show = setNotice
  useEffect(() => {
    if (notice === undefined || notice.isError) return
    const timer = setTimeout(() => setNotice(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [notice])
  const isError = notice?.isError === true
  return (
    <div class="notices">
      <div role="status">{notice !== undefined && !isError && <p class="notice">{notice.content}</p>}</div>
      <div role="alert">
        {notice !== undefined && isError && (
          <p class="notice bad">
            <span>{notice.content}</span>
            <button type="button" onClick={() => setNotice(undefined)}>
              Dismiss
            </button>
          </p>
        )}
      </div>
    </div>
  )
}
