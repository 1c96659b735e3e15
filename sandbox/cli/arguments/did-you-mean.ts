import { nearestName } from '../../internal.js'

/** The letters that say which name begins with them. */
const LEAST_BEGINNING = 3

/** ` Did you mean x?`, or nothing. */
export function didYouMean(word: string, names: Iterable<string>): string {
  const known = [...names]
  const name =
    cutShort(word, known) ??
    nearestName(word, known) ??
    likeTheEnd(word, known) ??
    likeTheBeginning(word, known)
  return name === undefined ? '' : ` Did you mean ${name}?`
}

/** `--start` is the beginning of `--start-at`, though it is as near to `--state`. */
function cutShort(word: string, names: readonly string[]): string | undefined {
  const isTooShort = word.replace(/^-+/, '').length < LEAST_BEGINNING
  return isTooShort ? undefined : onlyOne(names.filter((name) => name.startsWith(word)))
}

/** `event.craeted` means `order.created`: no other group has an action of that name. */
function likeTheEnd(word: string, names: readonly string[]): string | undefined {
  const endOf = (text: string): string => /\.([a-z]+)$/.exec(text)?.[1] ?? ''
  const end = endOf(word)
  const nearest = end === '' ? undefined : nearestName(end, names.map(endOf))
  return onlyOne(names.filter((name) => endOf(name) === nearest))
}

/** `dupe` begins as `duplicate` does, and as no other. */
function likeTheBeginning(word: string, names: readonly string[]): string | undefined {
  const beginning = word.slice(0, LEAST_BEGINNING).toLowerCase()
  const isTooShort = !/^[a-z]{3}/.test(beginning)
  // A word longer than the name is another word.
  return isTooShort
    ? undefined
    : onlyOne(names.filter((name) => name.startsWith(beginning) && word.length <= name.length))
}

const onlyOne = ([first, ...others]: readonly string[]): string | undefined =>
  others.length === 0 ? first : undefined
