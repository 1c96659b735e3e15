/** Standard objects that hold a value, a body or a signal: their methods reach nothing outside the process. */
const LEAVES = new Set(
  'Date RegExp Error ArrayBuffer SharedArrayBuffer URL URLSearchParams Headers Request Response Blob File FormData ReadableStream WritableStream TransformStream AbortSignal AbortController'.split(
    ' ',
  ),
)

/** Whether a value is an object or a function. */
export function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

/** By its tag, because a test runner may have classes of its own beside those of the runtime. */
function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1)
}

export function isLeaf(value: object): boolean {
  return ArrayBuffer.isView(value) || value instanceof Error || LEAVES.has(tagOf(value))
}

/** Whether an object is plain: a literal, or without a prototype. */
export function isPlain(value: object): boolean {
  if (typeof value === 'function') return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Whether a value holds data alone, at any depth: rows are data; statements, transactions and clients are not. */
export function isData(value: unknown, seen: Set<object> = new Set()): boolean {
  if (!isObject(value)) return true
  if (typeof value === 'function') return false
  if (isLeaf(value) || seen.has(value)) return true
  seen.add(value)
  if (Array.isArray(value)) return value.every((element) => isData(element, seen))
  if (value instanceof Map || value instanceof Set) return isData([...value], seen)
  return isPlain(value) && Object.values(value).every((one) => isData(one, seen))
}

/** Whether this is a plain promise of the runtime: a library's lazy statement may extend Promise, or only look like one. */
export function isPlainPromise(value: object): value is Promise<unknown> {
  // Node puts symbols on promises.
  return (
    tagOf(value) === 'Promise' && value.constructor?.name === 'Promise' && Object.keys(value).length === 0
  )
}

/** Whether a function can only be constructed, or has members that do. */
export function isClass(value: object): boolean {
  return typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value))
}
