import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import packageJson from '../package.json' with { type: 'json' }

const names = Object.keys(packageJson.exports)
  .filter((subpath) => subpath !== './package.json')
  .map((subpath) => (subpath === '.' ? 'index' : subpath.slice('./'.length)))

/** The source of each subpath of package.json, by its name in dist/. */
export const ENTRIES: Readonly<Record<string, string>> = Object.fromEntries(
  names.map((name) => [name, sourceOf(name)]),
)

function sourceOf(name: string): string {
  const rooms = ['src', 'adapters', 'stores', 'telemetry']
  const places = [...rooms.map((room) => `${room}/${name}.ts`), `${name}/index.ts`, `${name}.ts`]
  const source = places.find((path) => existsSync(fileURLToPath(new URL(`../${path}`, import.meta.url))))
  if (source === undefined) throw new Error(`None of ${places.join(', ')} is there for the subpath ${name}`)
  return source
}
