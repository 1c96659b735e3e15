import { vi } from 'vitest'

export type EngineName = 'node' | 'web'

/** A separate copy of the package, with the engine that it chose depending on whether `process` can give `node:crypto`. */
export interface PackageCopy {
  readonly api: typeof import('tix-webhooks')
  readonly hmac: typeof import('../../src/signature/hmac.js')
}

/** The engine is chosen at the first call and kept by the module: each choice takes a fresh copy of the modules. */
export async function packageWithEngine(name: EngineName): Promise<PackageCopy> {
  vi.resetModules()
  const api = await import('tix-webhooks')
  const hmac = await import('../../src/signature/hmac.js')
  withProcess(name === 'node' ? process : {}, () => hmac.hmacEngine())
  return { api, hmac }
}

/** Runs a synchronous function while the global `process` is replaced. */
export function withProcess<Result>(other: object | undefined, run: () => Result): Result {
  vi.stubGlobal('process', other)
  try {
    return run()
  } finally {
    vi.unstubAllGlobals()
  }
}
