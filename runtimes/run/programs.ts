import { join } from 'node:path'
import { HERE } from './folders.js'

/** The programs of the platform packages, which need no install script. */
export const BUN = join(HERE, 'node_modules/@oven/bun-linux-x64/bin/bun')
export const DENO = join(HERE, 'node_modules/@deno/linux-x64-glibc/deno')

/** The Node of a major version. */
export function nodeOf(version: string): string {
  return join(HERE, `node_modules/node-${version}/bin/node`)
}
