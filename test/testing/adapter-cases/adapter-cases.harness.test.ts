/** @module-tag slow */
import {
  type AdapterAnswer,
  type AdapterHarness,
  adapterCases,
  type MountedAdapter,
} from 'tix-webhooks/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { counted, failureOf, HANDLED } from '../../support/testing/adapter-cases.js'
import { answeringWith } from '../../support/testing/plain-adapter.js'

describe('what a case mounts is closed', () => {
  test.each<[string, Partial<MountedAdapter>]>([
    ['if it fails', { send: async () => ({ ...HANDLED, status: 404 }) }],
    ['if the client rejects', { send: () => Promise.reject(new Error('socket hang up')) }],
    ['if the client returns no answer', { send: async () => undefined as unknown as AdapterAnswer }],
  ])('%s', async (_, parts) => {
    for (const { id, run } of adapterCases) {
      const { harness, count } = counted(parts)
      await run(harness).catch(() => {})
      expect([id, count.closed]).toEqual([id, count.mounted])
      expect(count.mounted).toBeGreaterThan(0)
    }
  })
})

describe('an answer is read as clients give it', () => {
  test.each<[string, (answer: AdapterAnswer) => AdapterAnswer]>([
    ['headers as Headers', (answer) => ({ ...answer, headers: new Headers(answer.headers as HeadersInit) })],
    [
      'names in capitals, and numbers',
      ({ headers, ...answer }) => {
        const given = Object.entries(headers as Record<string, string>).map(([name, value]) => [
          name.toUpperCase(),
          name === 'retry-after' ? Number(value) : [value],
        ])
        return { ...answer, headers: { ...Object.fromEntries(given), 'x-none': undefined } }
      },
    ],
    [
      'a charset',
      (answer) => ({
        ...answer,
        headers: { ...answer.headers, 'content-type': 'application/json; charset=utf-8' },
      }),
    ],
  ])('%s', async (_, give) => {
    await expect(failureOf('answer-retry-later', answeringWith(give))).resolves.toMatchObject({
      message: 'answer-retry-later did not fail',
    })
  })
})

describe('anything but a harness is refused with what to pass', () => {
  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['an adapter', () => {}],
    ['one that mounts nothing', { mount: true }],
  ])('%s', async (_, harness) => {
    for (const { run } of adapterCases) {
      const refusal = run(harness as AdapterHarness)
      await expect(refusal).rejects.toThrow(TypeError)
      await expect(refusal).rejects.toThrow('The harness has no mount function: pass { mount }')
    }
  })

  test.each<[string, unknown]>([
    ['0', 0],
    ['NaN', Number.NaN],
    ['text', '5'],
  ])('a timeoutSeconds of %s', async (_, timeoutSeconds) => {
    const harness = { ...counted().harness, timeoutSeconds } as AdapterHarness
    const failure = await failureOf('answer-handled', harness)
    expect(failure).toBeInstanceOf(TypeError)
    expect(failure.message).toContain('timeoutSeconds must be a number of seconds above 0')
  })

  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'send'],
    ['a server', { close: () => {} }, 'send'],
    ['a client', { send: () => {} }, 'close'],
  ])('a mount of %s', async (_, mounted, method) => {
    const failure = await failureOf('answer-handled', { mount: async () => mounted as MountedAdapter })
    expect(failure).toBeInstanceOf(TypeError)
    expect(failure.message).toContain(
      `something without a ${method} function: it must resolve to { send, close }`,
    )
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['a Response', new Response()],
    ['an answer without headers', { status: 200, text: '' }],
    ['an answer whose status is text', { ...HANDLED, status: '200' }],
  ])('a send that gives %s', async (_, answer) => {
    const failure = await failureOf(
      'answer-handled',
      counted({ send: async () => answer as AdapterAnswer }).harness,
    )
    expect(failure).toBeInstanceOf(TypeError)
    expect(failure.message).toContain('it must resolve to { status, headers, text }')
  })
})

describe('the cases', () => {
  afterEach(() => {
    vi.restoreAllMocks()
    vi.unstubAllEnvs()
  })

  test('pass on a correct adapter, close it, and print nothing, in production too', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    const printers = (['log', 'info', 'warn', 'error'] as const).map((name) =>
      vi.spyOn(console, name).mockImplementation(() => {}),
    )
    const { harness, count } = counted()
    for (const { run } of adapterCases) await run(harness)
    expect(count.closed).toBe(count.mounted)
    expect(count.mounted).toBeGreaterThanOrEqual(adapterCases.length)
    expect(printers.flatMap(({ mock }) => mock.calls)).toEqual([])
  })
})
