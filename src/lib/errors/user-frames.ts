/** A frame of this package, by its install folder, or of Node. In a bundle, our frames look like the app's. */
const NOT_USERS = /[\\/]node_modules[\\/]tix-webhooks[\\/]|[\s(]node:/

/** The lines of a stack without the last frames, which are the same for every handler. At least one line is kept. */
export function userFrames(lines: readonly string[]): readonly string[] {
  let end = lines.length
  while (end > 1 && NOT_USERS.test(lines[end - 1] as string)) end--
  return lines.slice(0, end)
}
