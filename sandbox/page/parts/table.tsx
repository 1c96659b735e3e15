import type { ComponentChildren } from 'preact'
import { Scrolls } from './scrolls.js'

interface TableProps {
  readonly label: string
  /** The heads of its columns; a class after a bar, such as `Total|number`. */
  readonly heads: readonly string[]
  /** Its rows. */
  readonly children: ComponentChildren
}

/** A table that scrolls in its own box if it is too wide. */
export function Table({ label, heads, children }: TableProps) {
  return (
    <Scrolls as="div" class="scrolls" label={`Table of ${label.toLowerCase()}`}>
      <table aria-label={label}>
        <thead>
          <tr>
            {heads.map((head) => {
              const [text, look] = head.split('|')
              return (
                <th key={head} scope="col" class={look}>
                  {text}
                </th>
              )
            })}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </Scrolls>
  )
}
