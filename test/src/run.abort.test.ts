import { afterEach, describe, expect, test, vi } from 'vitest'
import { LazyAbort } from '../../src/receiver/run.js'

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('an abort signal that nobody has asked for', () => {
  function countControllers() {
    const made = vi.fn()
    class Counted extends AbortController {
      constructor() {
        super()
        made()
      }
    }
    vi.stubGlobal('AbortController', Counted)
    return made
  }

  test('costs no AbortController, aborted or not', () => {
    const made = countControllers()
    const abort = new LazyAbort()
    abort.abort(new Error('lost'))
    expect(made).not.toHaveBeenCalled()
  })

  test('is made once, at the first look', () => {
    const made = countControllers()
    const abort = new LazyAbort()
    expect(abort.signal).toBe(abort.signal)
    expect(made).toHaveBeenCalledOnce()
    expect(abort.signal.aborted).toBe(false)
  })

  test('is found aborted, with the first reason, when it is looked at later', () => {
    const abort = new LazyAbort()
    const first = new Error('lost')
    abort.abort(first)
    abort.abort(new Error('given up'))
    expect(abort.signal.aborted).toBe(true)
    expect(abort.signal.reason).toBe(first)
  })

  test('tells its listeners once, with the first reason', () => {
    const abort = new LazyAbort()
    const heard = vi.fn()
    abort.signal.addEventListener('abort', heard)
    const first = new Error('lost')
    abort.abort(first)
    abort.abort(new Error('given up'))
    expect(heard).toHaveBeenCalledOnce()
    expect(abort.signal.reason).toBe(first)
  })
})
