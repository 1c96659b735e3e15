// Finishes the declarations that the compiler wrote for every entry, for ESM (.d.ts) and for CommonJS (.d.cts).
//
// Every entry loads the declarations of the main one. A compiler that writes the declarations of a user's code can name a type only by an
// entry in the same program, and most types are exported by the main entry: `export const store = redisStore(client)` is of one.
//
// The two forms declare the same, so ESM has the declarations of CommonJS, rather than a copy. An entry that loads the types of a library
// has them in both forms, because the library may declare its own types twice; Node's own are declared once.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import packageJson from '../package.json' with { type: 'json' }

const kept = new Set()
for (const [subpath, conditions] of Object.entries(packageJson.exports)) {
  if (typeof conditions === 'string') continue
  const esm = conditions.import.types
  const commonJs = conditions.require.types
  const declarations = readFileSync(commonJs, 'utf8')
  const isOfLibrary = /^import [^\n]* from '(?!\.|node:)/m.test(declarations)
  const file = commonJs.slice(commonJs.lastIndexOf('/') + 1).replace(/\.d\.cts$/, '.cjs')
  // `./testing/fast-check` is in a folder of dist/.
  const main = subpath.split('/').length > 2 ? '../index' : './index'
  const load = (extension) => (subpath === '.' ? '' : `import '${main}.${extension}';\n`)
  writeFileSync(esm, load('js') + (isOfLibrary ? declarations : `export * from './${file}';\n`))
  writeFileSync(commonJs, load('cjs') + declarations)
  kept.add(esm)
}

for (const name of readdirSync('dist', { recursive: true, encoding: 'utf8' })) {
  const file = `./dist/${name.replaceAll('\\', '/')}`
  if (file.endsWith('.d.ts') && !kept.has(file)) rmSync(file)
}
