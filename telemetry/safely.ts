/** Calls telemetry. Its errors are swallowed: no exporter or processor may change what becomes of a delivery. */
export function safely<T>(call: () => T): T | undefined {
  try {
    const result = call()
    // Nothing awaits it: its rejection would end the process.
    if (result instanceof Promise) result.catch(() => {})
    return result
  } catch {
    return undefined
  }
}
