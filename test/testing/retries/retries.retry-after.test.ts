import { type AnyAnswer, createTestClock, deliverWithRetries, signedDelivery } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'
import { timesAt } from '../../support/testing/retrying.js'

describe('Retry-After', () => {
  const asking = (headers: unknown): AnyAnswer => ({ status: 503, headers })
  const after = (value: unknown) => asking({ 'retry-after': value })
  const done = { status: 200 }

  test.each<[string, unknown]>([
    ['Headers', new Headers({ 'Retry-After': '120' })],
    ['a plain object', { 'retry-after': '120' }],
    ['a plain object, written as it is read', { 'Retry-After': '120' }],
    ['a plain object with a number', { 'retry-after': 120 }],
    ['a plain object with lists', { 'retry-after': ['120'] }],
    ['a Map', new Map([['retry-after', '120']])],
    ['a value with blanks around it', { 'retry-after': ' 120 ' }],
  ])('is read from %s', async (_, headers) => {
    expect(await timesAt([asking(headers), done])).toEqual([0, 120])
  })

  test('may be a date, by the clock', async () => {
    const date = 'Sun, 17 May 2026 14:02:00 GMT'
    const clock = createTestClock('2026-05-17T14:00:00.250Z')
    expect(await timesAt([after(date), done], { clock })).toEqual([0, 120])
  })

  test('may be a date, by the real time where there is no clock', async () => {
    const delivery = await signedDelivery('order.created', { secret: SECRET })
    const answers = [after(new Date(Date.now() + 7_200_000).toUTCString()), done]
    const attempts = await deliverWithRetries(() => answers.shift() as AnyAnswer, delivery)
    expect(Math.abs((attempts[1]?.afterSeconds ?? 0) - 7200)).toBeLessThan(5)
  })

  test('is a minimum: what is earlier than the next step changes nothing', async () => {
    for (const value of ['0', '1', '5', 'Sun, 17 May 2026 14:00:04 GMT', 'Fri, 31 Dec 1999 23:59:59 GMT']) {
      expect(await timesAt([after(value), done])).toEqual([0, 5])
    }
  })

  test('leaves out the steps that pass meanwhile, and counts from its own attempt', async () => {
    expect(await timesAt([after('6'), after('400'), done])).toEqual([0, 6, 406])
    expect(await timesAt([after('6'), { status: 500 }, done])).toEqual([0, 6, 60])
  })

  test.each(['259199', '259200', '259201', '99999999', '9'.repeat(400)])(
    'of %s s does not prolong the 72 hours',
    async (value) => {
      expect(await timesAt([after(value)])).toEqual(value === '259199' ? [0, 259_199, 259_200] : [0, 259_200])
    },
  )

  test('after the last attempt asks in vain', async () => {
    expect(await timesAt([{ status: 500 }, after('1')], { schedule: [9] })).toEqual([0, 9])
  })

  test.each<[string, unknown]>([
    ['no headers', undefined],
    ['null', null],
    ['a string', 'retry-after: 120'],
    ['a list of lists', [['retry-after', '120']]],
    ['another header', { 'retry-before': '120' }],
    ['nothing', { 'retry-after': undefined }],
    ['empty', { 'retry-after': '' }],
    ['negative', { 'retry-after': '-120' }],
    ['a fraction', { 'retry-after': '120.5' }],
    ['an exponent', { 'retry-after': '1e3' }],
    ['hexadecimal', { 'retry-after': '0x78' }],
    ['a unit', { 'retry-after': '120s' }],
    ['several', { 'retry-after': ['120', '180'] }],
    ['words', { 'retry-after': 'soon, in 2999' }],
    ['a date of another form', { 'retry-after': '2027-01-01T00:00:00Z' }],
    ['no date', { 'retry-after': 'Sun, 40 May 2999 25:00:00 GMT' }],
  ])('that cannot be read asks for nothing: %s', async (_, headers) => {
    expect(await timesAt([asking(headers), done])).toEqual([0, 5])
  })
})
