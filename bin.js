#!/usr/bin/env node
// The command is a package of its own, so that a production install is without it.
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const NAME = 'tix-webhooks-sandbox'
const { version, engines } = readManifest(new URL('package.json', import.meta.url))
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

/** The oldest Node that the package runs on, if this is an older one. Deno calls itself a Node, too. */
function missingNode({ node, deno }) {
  const oldest = engines.node.replace('>=', '')
  const [[major, minor], [thisMajor, thisMinor]] = [oldest, node].map((version) =>
    version.split('.').map(Number),
  )
  const isOld = thisMajor < major || (thisMajor === major && thisMinor < minor)
  return deno === undefined && isOld ? oldest : undefined
}

const oldest = missingNode(process.versions)
const sandbox = findSandbox()
if (oldest !== undefined) {
  console.error(`tix-webhooks needs Node ${oldest} or newer, and this is Node ${process.versions.node}.`)
  process.exitCode = 1
} else if (sandbox === undefined) {
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
