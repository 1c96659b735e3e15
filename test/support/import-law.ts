import { posix } from 'node:path'
import { type Import, importsOf, modulesIn } from './source.js'

/** An import, by the path from the root if it names a file of ours. */
export interface Named extends Import {
  readonly target: string
}

/** A folder, and what its files may import beside each other: a place that ends in a slash stands for all in it. */
export interface Room {
  readonly folder: string
  readonly ours: readonly string[]
  /** Packages, with their subpaths; `node:` stands for all of the platform. */
  readonly theirs: readonly string[]
}

/** Where other rooms enter the testing kit: its public entry, and a file for our own sandbox and command line. */
export const DOORS_OF_TESTING = ['testing/index.ts', 'testing/internal.ts']

/** The source files of a folder, as paths from the root. */
export function filesIn(folder: string): string[] {
  return modulesIn(folder).map((name) => `${folder}/${name}.ts`)
}

export function namedBy(file: string): Named[] {
  return importsOf(file).map((one) => ({ ...one, target: targetOf(file, one.specifier) }))
}

function targetOf(file: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier
  return posix.join(posix.dirname(file), specifier).replace(/\.js$/, '.ts')
}

/** All imports of some files that a law forbids, as a list to read. */
export function refused(
  files: readonly string[],
  isAllowed: (file: string, one: Named) => boolean,
): string[] {
  return files.flatMap((file) =>
    namedBy(file)
      .filter((one) => !isAllowed(file, one))
      .map(({ target }) => `${file} imports ${target}`),
  )
}

export function isUnder(target: string, places: readonly string[]): boolean {
  return places.some((place) => (place.endsWith('/') ? target.startsWith(place) : target === place))
}

/** Whether the file's room, the first whose folder it is in, lets it import the target. */
export function isAllowedBy(rooms: readonly Room[], file: string, target: string): boolean {
  const room = rooms.find(({ folder }) => file.startsWith(folder))
  if (room === undefined) return false
  if (/^[\w-]+\/.*\.ts$/.test(target)) return target.startsWith(room.folder) || isUnder(target, room.ours)
  return room.theirs.some((one) => target === one || target.startsWith(one.endsWith(':') ? one : `${one}/`))
}

/** The circles of imports, each from the file that closes it. Types count: a reader follows them too. */
export function circlesIn(files: readonly string[]): string[] {
  const circles: string[] = []
  const done = new Set<string>()
  const path: string[] = []
  const visit = (file: string): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '))
    if (path.includes(file) || done.has(file)) return
    path.push(file)
    for (const { target } of namedBy(file)) if (files.includes(target)) visit(target)
    path.pop()
    done.add(file)
  }
  for (const file of files) visit(file)
  return circles
}
