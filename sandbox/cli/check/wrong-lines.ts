import type { Output } from '../terminal/output.js'
import { visible, visibleWithin } from '../terminal/visible-bytes.js'
import type { WrongDelivery } from './wrong-delivery.js'

/** How many different deliveries are shown. */
const MAX_SHOWN = 3
/** How many columns of a header or a body are shown, so that a line has 80. */
const MAX_COLUMNS = 64

const TRANSPORTS = {
  chunked: ', in chunks',
  'tiny-chunks': ', in chunks of one byte',
  slow: ', bit by bit',
} as const

/**
 * The requests and their answers: three lines for each delivery, or for several identical ones.
 *
 * @param isWhole whether all are shown, and whole
 */
export function wrongLines(
  wrong: readonly WrongDelivery[],
  isWhole: boolean,
  colors: Output['colors'],
): readonly string[] {
  const alike = groupsOf(wrong)
  const shown = isWhole ? alike : alike.slice(0, MAX_SHOWN)
  const left = alike.slice(shown.length).flat().length
  const say = (name: string, text: string | null): string =>
    `        ${colors.dim(name)}  ${bytesText(text, isWhole)}`
  return [
    ...shown.flatMap((group) => [
      `      ${titleOf(group)}`,
      say('header', group[0].header),
      say('body  ', group[0].body),
    ]),
    ...(left === 0 ? [] : [`      and ${left} more: --verbose shows all of them, whole`]),
  ]
}

/** Deliveries of the same bytes, with the same answer. */
type Group = readonly [WrongDelivery, ...WrongDelivery[]]

function groupsOf(wrong: readonly WrongDelivery[]): readonly Group[] {
  const groups = new Map<string, Group>()
  for (const delivery of wrong) {
    const { number: _, ...alike } = delivery
    const key = JSON.stringify(alike)
    const group = groups.get(key)
    groups.set(key, group === undefined ? [delivery] : [...group, delivery])
  }
  return [...groups.values()]
}

/** `deliveries 2, 3 of 12, answered 500`. */
function titleOf(group: Group): string {
  const [{ of, answer, transport }] = group
  const numbers = group.map(({ number }) => number).join(', ')
  const how = transport === undefined ? '' : TRANSPORTS[transport]
  const answered = /^\d/.test(answer) ? `answered ${answer}` : `not answered (${answer})`
  return `${group.length === 1 ? 'delivery' : 'deliveries'} ${numbers} of ${of}${how}, ${answered}`
}

function bytesText(text: string | null, isWhole: boolean): string {
  if (text === null) return '(none)'
  if (text === '') return '(empty)'
  return isWhole ? visible(text) : visibleWithin(text, MAX_COLUMNS)
}
