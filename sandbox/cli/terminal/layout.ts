// Text on a terminal of so many columns. A pipe has no end of them: `Infinity`.

import { stripVTControlCharacters as plain } from 'node:util'

/** A column of a table. */
export interface Column {
  readonly head: string
  /** The order in which columns are left out if there is no room, the highest number first. Default: it stays. */
  readonly drop?: number
}

/** A part of a line, and the order in which it is left out, as for a column. */
export interface Piece {
  readonly text: string
  readonly drop?: number
}

const GAP = 2
/** The most that a line is indented below its beginning. */
const MAX_INDENT = 32

/**
 * Lines whose cells stand below each other, the heads first. Columns that are empty throughout are left out, and of the others as many
 * as there is no room for.
 */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): readonly string[] {
  const all = columns.map(({ head, drop }, index) => {
    const cells = rows.map((row) => row[index] ?? '')
    const isEmpty = cells.every((cell) => cell === '')
    const widest = [head, ...cells].reduce((most, cell) => Math.max(most, widthOf(cell)), 0)
    return { cells: [head, ...cells], widest, drop, isEmpty }
  })
  const kept = fitting(
    all.filter(({ isEmpty }) => !isEmpty),
    (left) => left.reduce((sum, { widest }) => sum + widest + GAP, -GAP) <= width,
  )
  return ['', ...rows].map((_row, index) =>
    kept
      .map(({ cells, widest }) => padded(cells[index] ?? '', widest))
      .join(' '.repeat(GAP))
      .trimEnd(),
  )
}

/** Pieces with a blank between them, without those that there is no room for. */
export function line(pieces: readonly Piece[], width: number): string {
  const texts = (left: readonly Piece[]): string => left.map(({ text }) => text).join(' ')
  return texts(fitting(pieces, (left) => widthOf(texts(left)) <= width))
}

function fitting<Part extends { readonly drop?: number | undefined }>(
  parts: readonly Part[],
  fits: (left: readonly Part[]) => boolean,
): readonly Part[] {
  let left = parts
  while (!fits(left)) {
    const next = Math.max(...left.map(({ drop }) => drop ?? 0))
    if (next <= 0) break
    left = left.filter(({ drop }) => drop !== next)
  }
  return left
}

/**
 * A text whose lines end between words. What does not fit goes on below the beginning of its line, behind an arrow, a mark or a first
 * column, unless a word fits only further left. A word that is longer than a line is broken after a comma, or not at all.
 */
export function folded(text: string, width: number): string {
  if (!Number.isFinite(width)) return text
  return text
    .split('\n')
    .flatMap((one) => foldedLine(one, width))
    .join('\n')
}

function foldedLine(text: string, width: number): string[] {
  if (widthOf(text) <= width) return [text]
  const indent = Math.min(indentOf(text), Math.floor(width / 2))
  const lines: string[] = []
  let current = /^ */.exec(text)?.[0] ?? ''
  let hasWord = false
  for (const [, blanks = '', kept = ''] of keptTogether(text, width - indent).matchAll(/( *)([^ ]+)/g)) {
    const word = kept.replaceAll(GLUE, ' ')
    const joint = hasWord ? blanks : ''
    const pieces = widthOf(word) > width - indent ? word.split(/(?<=,)/) : [word]
    for (const [index, piece] of pieces.entries()) {
      const before = index === 0 ? joint : ''
      if (hasWord && widthOf(current + before + piece) > width) {
        lines.push(current)
        current = ' '.repeat(Math.max(0, Math.min(indent, width - widthOf(piece)))) + piece
      } else {
        current += before + piece
      }
      hasWord = true
    }
  }
  return [...lines, current]
}

/** A command that is to be typed is not broken, if a line has room for it. */
function keptTogether(text: string, width: number): string {
  return text.replaceAll(/(?<=^|: |\. |\()(?:npx )?tix-webhooks [a-z](?:(?!\. |\.$|\))[^\n])*/g, (command) =>
    widthOf(command) <= width ? command.replaceAll(' ', GLUE) : command,
  )
}

/** A character that no text here has. */
const GLUE = '\u0000'

/** The indent of the further lines of a long line. */
function indentOf(text: string): number {
  const start = plain(text.slice(0, MAX_INDENT * 4)).slice(0, MAX_INDENT)
  const [beginning = ''] =
    /^ *(?:\d\d:\d\d:\d\d )?(?:<--|-->|-|#|>|<) +/.exec(start) ??
    /^ *[^ ]+(?: [^ ]+)* {2,}/.exec(start) ??
    /^ */.exec(start) ??
    []
  return beginning.length
}

const padded = (cell: string, width: number): string => cell + ' '.repeat(Math.max(0, width - widthOf(cell)))

/** How many columns a text takes: colours none, and emoji and ideographs two. */
export function widthOf(text: string): number {
  const wide = text.match(WIDE)?.length ?? 0
  return [...plain(text)].length + wide
}

const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/gu
