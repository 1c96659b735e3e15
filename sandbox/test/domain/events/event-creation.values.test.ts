import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../../../test/support/runs.js'
import { apiRefusalOf, ticketing } from '../../support/ticketing.js'

const { create } = ticketing()
const tier = { name: 'GA', price_cents: 2500, quantity: 3 }
const tiers = (...differences: Record<string, unknown>[]) => ({
  tickets: differences.map((difference) => ({ ...tier, ...difference })),
})

describe('create takes', () => {
  test.each([
    'I <3 NY',
    'a <',
    '<',
    '<1>',
    '& &lt;b&gt;',
    '  blanks around ',
    ` ${'a'.repeat(200)} `,
    '夜 🎷',
  ])('[S7] [N32] [N33] the title %j, without the blanks around it', (title) => {
    expect(create({ title }).title).toBe(title.trim())
  })

  test('[N33] exactly the titles in which no parser of HTML opens a tag', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('<', '>', '/', '!', '?', 'b', 'Z', '3', ' ', 'é'),
          minLength: 1,
          maxLength: 12,
        }),
        (text) => {
          const title = `x${text}`
          const opensTag = [...title].some(
            (letter, index) => letter === '<' && /[a-z/!?]/i.test(title[index + 1] ?? ''),
          )
          if (opensTag)
            expect(apiRefusalOf(() => create({ title }))).toEqual(['title_contains_html', 'title'])
          else expect(create({ title }).title).toBe(title.trim())
        },
      ),
      { numRuns: runs(150) },
    )
  })

  test.each([
    'http://example.com',
    'https://example.com:8443/a/b.jpg?x=1&y=%20#top',
    'HTTPS://EXAMPLE.com/',
    'http://127.0.0.1:4010/x',
    'https://[::1]/x.png',
  ])('[S15] [S65] [N44] the image %s', (image) => {
    expect(create({ image }).image_url).toBe(image)
  })

  test('[S25] [N36] free tickets, and prices and quantities up to their bounds', () => {
    const given = [
      { name: 'a'.repeat(100), price_cents: 0, quantity: 1 },
      { name: 'b', price_cents: 99_999_999, quantity: 10_000_000 },
    ]
    expect(create({ tickets: given }).tickets).toMatchObject(given)
  })

  test('[N37] tiers whose names differ in case alone, or are spelt as words of JavaScript', () => {
    const names = ['ga', 'GA', 'constructor', '__proto__']
    expect(create(tiers(...names.map((name) => ({ name })))).tickets.map(({ name }) => name)).toEqual(names)
  })

  test('[S64] a description of 5000 characters', () => {
    expect(create({ description_md: 'a'.repeat(5_000) }).description_md).toHaveLength(5_000)
  })
})
