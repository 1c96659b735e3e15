#!/usr/bin/env node
// The command is a package of its own, so that a production install is without it.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const NAME = 'tix-webhooks-sandbox'

/** The file of the command: of the project that it is run in, else of the folder that this package is installed in. */
function commandFile() {
  for (const from of [join(process.cwd(), 'package.json'), import.meta.url]) {
    try {
      const manifest = createRequire(from).resolve(`${NAME}/package.json`)
      return join(dirname(manifest), createRequire(from)(manifest).bin[NAME])
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error
    }
  }
  return undefined
}

const file = commandFile()
if (file === undefined) {
  const { version } = createRequire(import.meta.url)('./package.json')
  console.error(
    `The command is in a package of its own. Install it:\n\n  npm install -D ${NAME}@${version}\n`,
  )
  process.exitCode = 1
} else {
  await import(pathToFileURL(file).href)
}
