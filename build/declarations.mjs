// Lets the declarations of every entry load those of the main one. A compiler that writes the declarations of a user's code can name a type
// only by an entry in the same program, and most types are exported by the main entry: `export const store = redisStore(client)` is of one.
import { readFileSync, writeFileSync } from 'node:fs'
import packageJson from '../package.json' with { type: 'json' }

for (const [subpath, conditions] of Object.entries(packageJson.exports)) {
  if (subpath === '.' || typeof conditions === 'string') continue
  // `./testing/fast-check` is in a folder of dist/.
  const main = subpath.split('/').length > 2 ? '../index' : './index'
  for (const [{ types }, extension] of [
    [conditions.import, 'js'],
    [conditions.require, 'cjs'],
  ]) {
    writeFileSync(types, `import '${main}.${extension}';\n${readFileSync(types, 'utf8')}`)
  }
}
