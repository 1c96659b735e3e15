import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A package.json, as far as the scripts of build/ read it. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly main?: string
  readonly bin?: Readonly<Record<string, string>>
  readonly files?: readonly string[]
  readonly repository?: unknown
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** The folders of the packages, from the root of the repository, in the order in which they are published. */
const FOLDERS = ['.', 'sandbox']

/** The packages that are published, the first one first. */
export function manifestsIn(root: string): { folder: string; manifest: Manifest }[] {
  return FOLDERS.filter((folder) => existsSync(join(root, folder, 'package.json'))).map((folder) => ({
    folder,
    manifest: JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')),
  }))
}

/** The advice before the first publication: the registry refuses a statement of origin without the address. */
export const NO_REPOSITORY =
  'package.json has no "repository". Before the first publication, set it to the address of the repository: "https://HOST/OWNER/NAME". homepage, bugs and the absolute links of the READMEs are derived from it.'
