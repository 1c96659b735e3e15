import type { Service } from '../service.js'
import type { Triggered } from './trigger.js'

/**
 * Adds the first attempts to what was triggered: resolves when each delivery was tried once, or will not be; or when the
 * service is closed, or nobody waits any more.
 */
export async function firstAnswers(
  service: Service,
  triggered: Triggered,
  signal?: AbortSignal,
): Promise<Triggered> {
  const signals = signal === undefined ? [service.closing] : [service.closing, signal]
  const waiting = new Set(triggered.deliveries)
  await new Promise<void>((resolve) => {
    const look = (): void => {
      for (const id of waiting) {
        if (service.engine.delivery(id)?.status !== 'pending') waiting.delete(id)
      }
      if (waiting.size > 0 && !signals.some(({ aborted }) => aborted)) return
      stop()
      for (const one of signals) one.removeEventListener('abort', look)
      resolve()
    }
    const stop = service.subscribe(look)
    for (const one of signals) one.addEventListener('abort', look)
    look()
  })
  const attempts = triggered.deliveries.flatMap((id) => service.engine.delivery(id)?.attempts ?? [])
  return { ...triggered, attempts }
}
