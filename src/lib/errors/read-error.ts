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

/** The lines of an error's stack that are frames. Those of its message may look like frames, and be a stranger's text: they are left out. */
export function framesOf(error: unknown): readonly string[] {
  const [stack, message] = ['stack', 'message'].map((name) => readProperty(error, name))
  if (typeof stack !== 'string') return []
  const lines = (typeof message === 'string' ? stack.replace(message, '') : stack).split('\n')
  return lines.filter((line) => /^[ \t]+at /.test(line))
}

/** A frame of this package, by its install folder, or of Node. In a bundle, our frames look like the app's. */
const NOT_USERS = /[\\/]node_modules[\\/]tix-webhooks[\\/]|[\s(]node:/

/** The lines of a stack without the last frames, which are the same for every handler. At least one line is kept. */
export function userFrames(lines: readonly string[]): readonly string[] {
  let end = lines.length
  while (end > 1 && NOT_USERS.test(lines[end - 1] as string)) end--
  return lines.slice(0, end)
}

/** A frame of a package, of the runtime, or, with Deno, of its cache of packages or of a module that was fetched. */
const NOT_OWN = /[\\/](?:node_modules|npm[\\/][^\\/]+\.[^\\/]+)[\\/]|[\s(](?:node|ext|https?):/
const FRAME = /^\s*at .*:\d+:\d+\)?$/

/**
 * The first frame of an error that is in the user's own code, as its function, file and position: without the folder of the file, which differs
 * from one machine to the next. `undefined` if there is none.
 */
export function firstUserFrame(error: unknown): string | undefined {
  const frame = framesOf(error).find((line) => FRAME.test(line) && !NOT_OWN.test(line))
  return frame
    ?.trim()
    .replace(/^at (async )?/, '')
    .replace(/(?<=\().*[\\/]|^[^(]*[\\/]/, '')
    .replace(/\?[^:)]*/, '')
}
