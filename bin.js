#!/usr/bin/env node
// The command is a package of its own, so that a production install is without it.
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const NAME = 'tix-webhooks-sandbox'
const { version } = readManifest(new URL('package.json', import.meta.url))
const INSTALL = `npm install -D ${NAME}@${version}`

function readManifest(file) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

/** The second package: the one installed beside this one, else that of the project, which pnpm stores apart. */
function findSandbox() {
  for (const from of [import.meta.url, join(process.cwd(), 'package.json')]) {
    try {
      const manifest = createRequire(from).resolve(`${NAME}/package.json`)
      const { bin, version } = readManifest(manifest)
      const command = join(dirname(manifest), bin[NAME])
      if (existsSync(command)) return { command, version }
    } catch {
      // It is not there, or not whole.
    }
  }
  return undefined
}

const sandbox = findSandbox()
if (sandbox === undefined) {
  console.error(`The command is in a package of its own. Install it:\n\n  ${INSTALL}\n`)
  process.exitCode = 1
} else {
  if (sandbox.version !== version) {
    console.error(
      `tix-webhooks is ${version}, but ${NAME} is ${sandbox.version}. Install the same: ${INSTALL}\n`,
    )
  }
  await import(pathToFileURL(sandbox.command).href)
}
