import * as fc from 'fast-check'
import type { HeaderValue } from '../../src/index.js'
import { MAX_HEADER_LENGTH, MAX_SIGNATURES } from '../../src/internal.js'
import { checkHeaderOptions, contents, type HeaderOptions, headerParts, signatures } from './header-parts.js'

/** Names other than `t` and `v1`, some of them similar. */
const OTHER_NAMES = ['v0', 'v2', 'T', 'V1', 'v1 ', 'tt', 'k', 'kid', 'alg', '__proto__']
const BLANKS = ['', '', '', ' ', '\t', '  \t ']

/**
 * Well-formed signature headers in every allowed shape: items in any order, with white space around them, among other names, with
 * up to 16 signatures, up to 4 KiB long; as a string, or as an array of pieces.
 *
 * @param options `of`: the headers have the same content as that one, so they are as valid. Default: their signatures match nothing
 * @throws TypeError when `of` is not a header from `signPayload`
 * @example
 * ```ts
 * import * as fc from 'fast-check'
 * import { verifySignature } from 'tix-webhooks'
 * import { signedDelivery } from 'tix-webhooks/testing'
 * import { signatureHeaders } from 'tix-webhooks/testing/fast-check'
 *
 * const secret = 'whsec_test'
 * const { body, header } = await signedDelivery('order.created', { secret })
 *
 * await fc.assert(
 *   fc.asyncProperty(signatureHeaders({ of: header }), async (other) => {
 *     await verifySignature(body, other, { secret })
 *   }),
 * )
 * ```
 */
export function signatureHeaders(options: HeaderOptions & { sendable: true }): fc.Arbitrary<string>
export function signatureHeaders(options?: HeaderOptions): fc.Arbitrary<string | readonly string[]>
export function signatureHeaders(options: HeaderOptions = {}): fc.Arbitrary<NonNullable<HeaderValue>> {
  checkHeaderOptions(options)
  const shape = options.sendable
    ? fc.constant<Shape>('whole')
    : fc.constantFrom<Shape[]>('whole', 'alone', 'pieces')
  return fc
    .tuple(
      headerParts(options),
      fc.array(signatures(options.sendable), { maxLength: 3 }),
      others(options.sendable),
      layouts(),
      shape,
    )
    .map(([{ t, signatures: own }, more, names, layout, as]) => {
      const items = [
        `t=${t}`,
        ...[...own, ...more].slice(0, MAX_SIGNATURES).map((signature) => `v1=${signature}`),
        ...names,
      ]
      return shaped(laidOut(items, layout), as)
    })
}

/** The shape of a header: a string, an array of that string, or an array of its items. */
type Shape = 'whole' | 'alone' | 'pieces'

/** The order of the items, and the white space around each. */
interface Layout {
  readonly places: readonly number[]
  readonly blanks: readonly string[]
  /** Whether the header is padded to the maximum length. */
  readonly isFull: boolean
}

function layouts(): fc.Arbitrary<Layout> {
  return fc.record({
    places: fc.array(fc.nat(99), { maxLength: 30 }),
    blanks: fc.array(fc.constantFrom(...BLANKS), { maxLength: 60 }),
    isFull: fc.oneof(
      { withCrossShrink: true },
      { weight: 9, arbitrary: fc.constant(false) },
      { weight: 1, arbitrary: fc.constant(true) },
    ),
  })
}

function others(sendable?: boolean): fc.Arbitrary<string[]> {
  const item = fc.tuple(fc.constantFrom(...OTHER_NAMES), contents(sendable))
  return fc.array(
    item.map(([name, content]) => `${name}=${content}`),
    { maxLength: 5 },
  )
}

function laidOut(items: readonly string[], { places, blanks, isFull }: Layout): string[] {
  const laid = items
    .map((item, index) => ({
      place: places[index] ?? 0,
      text: `${blanks[2 * index] ?? ''}${item}${blanks[2 * index + 1] ?? ''}`,
    }))
    .sort((a, b) => a.place - b.place)
    .map(({ text }) => text)
  return isFull ? [...laid, 'x='.padEnd(MAX_HEADER_LENGTH - laid.join(',').length - 1, 'x')] : laid
}

function shaped(items: readonly string[], shape: Shape): string | readonly string[] {
  if (shape === 'pieces') return items
  return shape === 'alone' ? [items.join(',')] : items.join(',')
}
