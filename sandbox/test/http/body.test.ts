import { describe, expect, test } from 'vitest'
import { type BodyRule, MAX_BODY_BYTES, readJson } from '../../http/body.js'

const JSON_TYPE = { 'content-type': 'application/json' }
const read = (
  body: BodyInit | null,
  headers: Record<string, string> = JSON_TYPE,
  rule: BodyRule = { required: true },
) =>
  readJson(
    new Request('http://127.0.0.1/', { method: 'POST', headers, body, duplex: 'half' } as RequestInit),
    rule,
  )
const bytes = (...parts: (string | number[])[]): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.concat(parts.map((part) => Buffer.from(part as string))))
function streamOf(chunks: Generator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull(controller) {
      const { value, done } = chunks.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: () => void chunks.return(undefined),
  })
}
const faulty = (code: string) => expect.objectContaining({ code })

test.each(['application/json', 'application/json;charset="UTF-8"', 'application/json;'])(
  '[S47] [N9] takes the content type %j',
  async (type) => {
    expect(await read('{"a":1}', { 'content-type': type })).toEqual({ a: 1 })
  },
)

test.each([
  'text/plain',
  'application/jsonp',
  'application/json, text/plain',
  'application/json; charset=latin1',
  'application/merge-patch+json',
  'multipart/form-data; boundary=x',
])('[N9] refuses the content type %j', async (type) => {
  await expect(read('{"a":1}', { 'content-type': type })).rejects.toEqual(faulty('unsupported_media_type'))
})

test('[N9] refuses a content type of any length', async () => {
  // In quadratic time these would run into the time limit of the test.
  for (const end of [`${' '.repeat(1e6)}x`, `;charset=utf-8${' '.repeat(1e6)}x`, ';'.repeat(1e6)]) {
    const answer = read('{"a":1}', { 'content-type': `application/json${end}` })
    await expect(answer).rejects.toMatchObject({ code: 'unsupported_media_type' })
  }
})

test.each([
  ['nothing', ''],
  ['what is no JSON', '{"a":'],
  ['a list', '[]'],
  ['null', 'null'],
])('[N10] refuses %s', async (_, body) => {
  await expect(read(body)).rejects.toEqual(faulty('invalid_json'))
})

test('[N10] refuses invalid UTF-8, and takes a byte order mark', async () => {
  await expect(read(bytes('{"a":"', [0xff], '"}'))).rejects.toEqual(faulty('invalid_json'))
  await expect(read(bytes('{"a":"', [0xed, 0xa0, 0x80], '"}'))).rejects.toEqual(faulty('invalid_json'))
  expect(await read(bytes([0xef, 0xbb, 0xbf], '{"a":"é"}'))).toEqual({ a: 'é' })
})

test('[N9] [N10] a body that need not be there is checked if it is', async () => {
  const optional = { required: false }
  expect(await read(null, {}, optional)).toBeUndefined()
  expect(await read('', JSON_TYPE, optional)).toBeUndefined()
  expect(await read('{}', JSON_TYPE, optional)).toEqual({})
  await expect(read('[]', JSON_TYPE, optional)).rejects.toEqual(faulty('invalid_json'))
  for (const body of ['{}', null]) {
    const answer = read(body, { 'content-type': 'text/plain' }, optional)
    await expect(answer).rejects.toEqual(faulty('unsupported_media_type'))
  }
})

describe('the limit', () => {
  const bodyOf = (size: number) => `{"a":"${'x'.repeat(size - 8)}"}`

  test('[N20] is 1 MiB', async () => {
    expect(MAX_BODY_BYTES).toBe(1024 * 1024)
    expect(Object.keys((await read(bodyOf(MAX_BODY_BYTES))) ?? {})).toEqual(['a'])
    await expect(read(bodyOf(MAX_BODY_BYTES + 1))).rejects.toEqual(faulty('body_too_large'))
    const declared = { ...JSON_TYPE, 'content-length': String(MAX_BODY_BYTES + 1) }
    await expect(read('{}', declared)).rejects.toEqual(faulty('body_too_large'))
  })
})

test('a body that breaks off is refused', async () => {
  function* broken(): Generator<Uint8Array> {
    yield bytes('{"a":')
    throw new Error('ECONNRESET')
  }
  await expect(read(streamOf(broken()))).rejects.toEqual(faulty('invalid_json'))
})

describe('hostile JSON', () => {
  test('with __proto__ changes no prototype', async () => {
    const body = await read('{"__proto__":{"polluted":true},"constructor":1,"a":{"__proto__":null}}')
    expect(Object.keys(body ?? {})).toEqual(['__proto__', 'constructor', 'a'])
    expect(Object.getPrototypeOf(body)).toBe(Object.prototype)
    expect({}).not.toHaveProperty('polluted')
  })

  test.each(['[', '{"a":'])('nested endlessly with %s is refused', async (open) => {
    await expect(read(`{"a":${open.repeat(200_000)}`)).rejects.toEqual(faulty('invalid_json'))
  })

  test('may be nested 100 levels deep, whatever stands in its strings', async () => {
    const brackets = '[{\\"'.repeat(500)
    const body = `{"a":${'['.repeat(99)}"${brackets}"${']'.repeat(99)}}`
    expect(Object.keys((await read(body)) ?? {})).toEqual(['a'])
    await expect(read(`{"a":${'['.repeat(100)}${']'.repeat(100)}}`)).rejects.toEqual(faulty('invalid_json'))
  })
})
