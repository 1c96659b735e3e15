import { posix } from 'node:path'
import { type Import, importsOf, modulesIn } from './source.js'

/** An import, with the path from the root if it is one of our files. */
export interface Named extends Import {
  readonly target: string
}

/** A folder, and the imports that its files may have besides each other: a path that ends in a slash includes everything in it. */
export interface Room {
  readonly folder: string
  readonly ours: readonly string[]
  /** Packages, with their subpaths; `node:` includes the whole platform. */
  readonly theirs: readonly string[]
}

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

/** All imports of some files that a law forbids, as a readable list. */
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

function isUnder(target: string, places: readonly string[]): boolean {
  return places.some((place) => (place.endsWith('/') ? target.startsWith(place) : target === place))
}

/** Whether the file's folder, the first in the list that matches, may import the target. */
export function isAllowedBy(rooms: readonly Room[], file: string, target: string): boolean {
  const room = rooms.find(({ folder }) => file.startsWith(folder))
  if (room === undefined) return false
  if (/^[\w-]+\/.*\.ts$/.test(target)) return target.startsWith(room.folder) || isUnder(target, room.ours)
  return room.theirs.some((one) => target === one || target.startsWith(one.endsWith(':') ? one : `${one}/`))
}

/** The import cycles, each from the file that closes it. Types count: a reader follows them too. */
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
