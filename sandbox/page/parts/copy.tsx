import type { ComponentChildren } from 'preact'
import { Action } from './action.js'
import { notify } from './notice.js'

/** Puts text onto the clipboard; if the browser does not allow that, shows it to be copied by hand. */
export async function copy(text: string, says: ComponentChildren = 'Copied.'): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    notify(says)
  } catch {
    notify(
      <label>
        The browser does not allow copying here. Copy it by hand:
        <textarea readOnly rows={3} value={text} onFocus={(event) => event.currentTarget.select()} />
      </label>,
    )
  }
}

/** An id, with a button to copy it. */
export function Id({ id }: { readonly id: string }) {
  return (
    <span class="id">
      <code>{id}</code>
      <Action look="small" title={`Copy ${id}`} run={() => copy(id)}>
        Copy<span class="unseen"> {id}</span>
      </Action>
    </span>
  )
}
