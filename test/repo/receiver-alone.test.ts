import { builtinModules } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ENTRIES } from '../../build/entries.js'
import { importsOf } from '../support/source.js'

/** The two entries that load a library of the user's, which is a peer. */
const PEERS: Readonly<Record<string, readonly string[]>> = {
  opentelemetry: ['@opentelemetry/api'],
  'testing/fast-check': ['fast-check'],
}

/** A built file, and all built files that it loads. */
function loadedWith(file: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(file)) return loaded
  loaded.add(file)
  for (const { specifier } of importsOf(file)) {
    if (specifier.startsWith('.')) loadedWith(join(dirname(file), specifier), loaded)
  }
  return loaded
}

describe('the build', () => {
  test.each(Object.keys(ENTRIES))('of %s loads nothing but its own files and Node', (name) => {
    const specifiers = [...loadedWith(`dist/${name}.js`)].flatMap((file) => importsOf(file))
    const outside = specifiers
      .map(({ specifier }) => specifier)
      .filter((specifier) => !/^(\.|node:)/.test(specifier) && !builtinModules.includes(specifier))
    expect([...new Set(outside)]).toEqual(PEERS[name] ?? [])
  })
})
