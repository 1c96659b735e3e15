import { widthOf } from './layout.js'

/** Control and format characters, line separators, blanks other than the space, combining characters, and U+FFFD, which replaces invalid UTF-8. */
const INVISIBLE = /[\p{C}\p{Z}\p{Mn}\p{Me}\ufffd]/u

/** Each character; a `mark` is a `<` that begins what is written like one of ours, but stands in the text itself. */
const CHARACTERS = /(?<mark><(?=[0-9a-f]{2}(?: [0-9a-f]{2})*>))|./gsu

/**
 * Shows invisible bytes in hexadecimal, such as `<0a>`. A space is shown so only at the start and the
 * end of the text, where nobody sees it.
 */
export function visible(text: string): string {
  return marked(text).join('')
}

/** The same within a number of columns: of a longer text the start, the end, and the number of bytes. */
export function visibleWithin(text: string, columns: number): string {
  // A character takes a column or more, so that no more of a long text need be read.
  const whole = text.length <= columns ? visible(text) : undefined
  if (whole !== undefined && widthOf(whole) <= columns) return whole
  const size = ` (${Buffer.byteLength(text)} bytes)`
  const room = columns - size.length - 1
  const end = Math.floor(room / 3)
  const tail = fitting(marked(text.slice(-columns)).reverse(), end).reverse()
  return `${fitting(marked(text.slice(0, columns)), room - end).join('')}…${tail.join('')}${size}`
}

/** As many of them, from the first on, as have room. */
function fitting(pieces: readonly string[], columns: number): string[] {
  let left = columns
  const end = pieces.findIndex((piece) => {
    left -= widthOf(piece)
    return left < 0
  })
  return pieces.slice(0, end === -1 ? pieces.length : end)
}

function marked(text: string): string[] {
  const characters = [...text.matchAll(CHARACTERS)]
  return characters.map(([character, mark], index) => {
    const isAtEdge = index === 0 || index === characters.length - 1
    const isSeen = character === ' ' ? !isAtEdge : !INVISIBLE.test(character) && mark === undefined
    return isSeen ? character : `<${hexOf(character).join(' ')}>`
  })
}

function hexOf(character: string): string[] {
  return [...Buffer.from(character)].map((byte) => byte.toString(16).padStart(2, '0'))
}
