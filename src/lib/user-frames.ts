/** A frame of this package, by the folder that it is installed in, or of Node. In a bundle nothing tells ours from the app's. */
const NOT_USERS = /[\\/]node_modules[\\/]tix-webhooks[\\/]|[\s(]node:/

/** The lines of a stack without the frames at its end that are the same for every handler. At least one line is kept. */
export function userFrames(lines: readonly string[]): readonly string[] {
  let end = lines.length
  while (end > 1 && NOT_USERS.test(lines[end - 1] as string)) end--
  return lines.slice(0, end)
}
