import { onTestFinished } from 'vitest'

/** Lowers bounds for one test, which would otherwise have to fill them by the hundred thousand. Their values are a test of their own. */
export function lower<Name extends string>(
  limits: Readonly<Record<Name, number>>,
  lowered: Partial<Record<NoInfer<Name>, number>>,
): void {
  const before = { ...limits }
  Object.assign(limits, lowered)
  onTestFinished(() => void Object.assign(limits, before))
}
