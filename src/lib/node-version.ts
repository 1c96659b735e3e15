import { ConfigurationError } from '../errors.js'

/** As in `engines` of package.json, at which npm only warns. */
export const OLDEST_NODE = [20, 19] as const

interface MaybeNode {
  readonly process?: { readonly versions?: Readonly<Record<string, unknown>> }
}

/**
 * Refuses a Node that is too old by its name, because what it lacks would fail somewhere later. Bun, Deno and Electron have versions of
 * their own, beside that of the Node that they resemble.
 *
 * @throws ConfigurationError
 */
export function checkNodeVersion(): void {
  const { node, bun, deno, electron } = (globalThis as MaybeNode).process?.versions ?? {}
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(String(node)) ?? []
  if (major === undefined || bun !== undefined || deno !== undefined || electron !== undefined) return
  const [oldestMajor, oldestMinor] = OLDEST_NODE
  if (Number(major) > oldestMajor || (Number(major) === oldestMajor && Number(minor) >= oldestMinor)) return
  throw new ConfigurationError(
    `tix-webhooks needs Node ${OLDEST_NODE.join('.')} or newer, and this is Node ${node}.`,
  )
}
