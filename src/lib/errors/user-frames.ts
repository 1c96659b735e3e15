/** A frame of this package, by its install folder, or of Node. In a bundle, our frames look like the app's. */
const NOT_USERS = /[\\/]node_modules[\\/]tix-webhooks[\\/]|[\s(]node:/

/** The lines of a stack without the last frames, which are the same for every handler. At least one line is kept. */
export function userFrames(lines: readonly string[]): readonly string[] {
  let end = lines.length
  while (end > 1 && NOT_USERS.test(lines[end - 1] as string)) end--
  return lines.slice(0, end)
}

const NOT_OWN = /[\\/]node_modules[\\/]|[\s(]node:/
const FRAME = /^\s*at .*:\d+:\d+\)?$/

/**
 * The first frame of a stack that is in the user's own code, as its function, file and position: without the folder of the file, which differs
 * from one machine to the next. `undefined` if there is none.
 */
export function firstUserFrame(stack: string): string | undefined {
  const frame = stack.split('\n').find((line) => FRAME.test(line) && !NOT_OWN.test(line))
  return frame
    ?.trim()
    .replace(/^at (async )?/, '')
    .replace(/(?<=\().*[\\/]|^[^(]*[\\/]/, '')
    .replace(/\?[^:)]*/, '')
}
