/** Whether it is an error, also one of another realm: of a vm, or from a worker's message. */
export function isError(value: unknown): boolean {
  try {
    return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]'
  } catch {
    return false
  }
}
