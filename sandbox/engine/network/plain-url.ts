/** What is wrong with a URL that is not plain; a sentence about it goes on so. */
export const PLAIN_URL =
  'must have no line breaks, blanks or invisible characters in it: write them percent-encoded, or leave them out'

/**
 * Whether a URL stands there as it is read. The parser of URLs leaves out line breaks and tabs wherever they are, and blanks around
 * it, so that what is logged would not be what is called.
 */
export function isPlainUrl(text: string): boolean {
  return !/[\p{Cc}\p{Cf}\p{Cs}\p{Z}]/u.test(text)
}
