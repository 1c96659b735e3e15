/** The end of a sentence about a URL that is not plain. */
export const PLAIN_URL =
  'must have no line breaks, blanks or invisible characters in it: write them percent-encoded, or leave them out'

/**
 * Whether a URL is read as it is written. The parser of URLs leaves out line breaks and tabs wherever they are, and blanks around
 * it, so that what is logged would not be what is called.
 */
export function isPlainUrl(text: string): boolean {
  return !/[\p{Cc}\p{Cf}\p{Cs}\p{Z}]/u.test(text)
}
