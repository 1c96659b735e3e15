/** Calls telemetry. Its errors are swallowed: no exporter or processor may change what becomes of a delivery. */
export function safely<T>(call: () => T): T | undefined {
  try {
    return call()
  } catch {
    return undefined
  }
}
