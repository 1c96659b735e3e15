import { expect, test } from 'vitest'
import { messageOf } from '../../../../src/lib/errors/read-error.js'

const revoked = Proxy.revocable({}, {})
revoked.revoke()

test.each([
  ['an error', new Error('down'), 'down'],
  ['an error of another realm', { message: 'down' }, 'down'],
  [
    'an error with several errors and no message',
    new AggregateError([new Error('a'), new Error('b')]),
    'a; b',
  ],
  ['an error with several errors and a message', new AggregateError([new Error('a')], 'down'), 'down'],
  ['an error without a message', new Error(''), ''],
  ['text', 'down', 'down'],
  ['nothing', undefined, 'undefined'],
  ['null', null, 'null'],
  ['an object without a message', {}, '[object Object]'],
  ['what cannot be read', revoked.proxy, 'an unreadable error'],
  ['what cannot be text', Object.create(null), 'an unreadable error'],
])('the message of what was thrown of %s', (_, thrown, message) => {
  expect(messageOf(thrown)).toBe(message)
})

test('messageOf reads an error that contains itself, twice, in bounded time', () => {
  const error = new AggregateError([], '')
  error.errors.push(error, error)
  expect(messageOf(error)).toBe('; ')
})
