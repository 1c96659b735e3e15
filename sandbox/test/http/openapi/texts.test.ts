/** @module-tag slow */
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { runs } from '../../../../test/support/runs.js'
import { createEventBody } from '../../../domain/requests/requests.js'
import { EVENT } from '../../support/http-sandbox.js'

const [tier] = EVENT.tickets

/** A body with a text in one place. */
const PLACES: Readonly<Record<string, (text: string) => object>> = {
  title: (title) => ({ ...EVENT, title }),
  'name of a tier': (name) => ({ ...EVENT, tickets: [{ ...tier, name }] }),
  'name of a venue': (name) => ({ ...EVENT, venue_id: undefined, venue: { name } }),
  description_md: (description_md) => ({ ...EVENT, description_md }),
}

/** Characters at which a schema and a check may differ: blanks, controls, markup, and one that JavaScript counts twice. */
const texts = fc.oneof(
  fc.string({
    unit: fc.constantFrom(...' \t\n\r\0\u0007\u007f\u0085\u00a0\u2003\u2028\ufeff<a/!?\u{1f600}'),
    maxLength: 6,
  }),
  fc
    .tuple(fc.constantFrom('a', '\u{1f600}'), fc.constantFrom(100, 101, 200, 201, 5000, 5001))
    .map(([unit, length]) => unit.repeat(length)),
)

/** As the document has it, for readers of it in any language. */
const fits = new Ajv2020({ strict: false, validateFormats: false }).compile(
  z.toJSONSchema(createEventBody, { io: 'input' }),
)

test.each(Object.entries(PLACES))(
  'the schema of a request and its check agree on the %s',
  (place, bodyWith) => {
    fc.assert(
      fc.property(texts, (text) => {
        const isAccepted = (sent: string): boolean => createEventBody.safeParse(bodyWith(sent)).success
        const isFitting = (sent: string): boolean => fits(JSON.parse(JSON.stringify(bodyWith(sent))))
        // A text that fits is accepted; one that is accepted fits without the blanks and line breaks around it.
        if (isFitting(text)) expect(isAccepted(text)).toBe(true)
        const bare = place === 'description_md' ? text : text.trim()
        expect(isFitting(bare)).toBe(isAccepted(bare))
      }),
      { numRuns: runs(300), examples: [[' '], ['\u{1f600}'.repeat(200)], ['a\u0000']] },
    )
  },
)
