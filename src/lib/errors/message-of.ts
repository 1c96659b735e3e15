/** A property of anything thrown, through its prototypes. Reading a foreign error may throw; then it is undefined. */
export function readProperty(holder: unknown, name: PropertyKey): unknown {
  try {
    return (holder as Readonly<Record<PropertyKey, unknown>> | null | undefined)?.[name]
  } catch {
    return undefined
  }
}

/** Whether it is an error, also one of another realm: of a vm, or from a worker's message. */
export function isError(value: unknown): boolean {
  try {
    return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]'
  } catch {
    return false
  }
}

/**
 * The message of anything thrown: an error's `message`, or the value as text. Node's error for a host with several addresses,
 * such as `localhost`, has no message, but one error for each address: then it is their messages.
 */
export function messageOf(error: unknown): string {
  try {
    const { message, errors } = (error ?? {}) as { message?: unknown; errors?: unknown }
    if (message === '' && Array.isArray(errors)) return errors.map(ownMessageOf).join('; ')
    return String(message ?? error)
  } catch {
    return 'an unreadable error'
  }
}

/** One level only: an error may contain itself. */
function ownMessageOf(error: unknown): string {
  return String((error as { message?: unknown } | null)?.message ?? error)
}

/** The cause of anything thrown. */
export function causeOf(error: unknown): unknown {
  return readProperty(error, 'cause')
}

const MAX_CAUSES = 5

/** Anything thrown with its causes, the first few: an error may be its own cause. */
export function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = []
  for (let one = error; one !== undefined && causes.length <= MAX_CAUSES; one = causeOf(one)) causes.push(one)
  return causes
}
