import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ROOT } from './root.js'

/** Declarations that snippets expect from the reader's own app. */
const READERS_OWN = `
import type { OrderCreatedData, OrderCreatedEvent } from 'tix-webhooks'
declare global {
  function issueTickets(order: string, tickets?: unknown): Promise<void>
  function refreshListing(kind: string, data: unknown): Promise<void>
  function handleOrder(event: OrderCreatedEvent): Promise<void>
  function isNight(): boolean
  function book(order: OrderCreatedData['order'], tickets: OrderCreatedData['tickets'], options: { signal: AbortSignal }): Promise<void>
  function accountOf(request: object): string
  function move(event: string, doorsAt: Date): Promise<void>
  function refund(order: string, cents: number): Promise<void>
  const logger: Record<'info' | 'error', (fields: object, message: string) => void>
  const boss: { send(name: string, data: object, options: { db: object }): Promise<string | null> }
}
`

/** The fenced blocks of one language in a Markdown file. */
export function snippetsOf(file: string, language: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, name, code]) =>
    name === language && code !== undefined ? [code] : [],
  )
}

/** A folder for code: inside the tree, so that imports are found; hidden, so that other tools ignore it. */
export function snippetsFolder() {
  const folder = mkdtempSync(join(ROOT, 'test', '.snippets-'))
  return {
    /** Returns the path of the file. */
    write(name: string, code: string): string {
      const file = join(folder, `${name}.ts`)
      writeFileSync(file, code)
      return file
    },
    remove: () => rmSync(folder, { recursive: true }),
  }
}

/** The compiler's errors in snippets, by their names, as strict as for our own code. */
export function problemsOf(snippets: Readonly<Record<string, string>>): string[] {
  const { write, remove } = snippetsFolder()
  try {
    const files = Object.entries({ 'readers-own': READERS_OWN, ...snippets }).map(([name, code]) =>
      write(name, code),
    )
    const project = join(dirname(files[0] as string), 'tsconfig.json')
    // A snippet may show a parameter before the code that uses it.
    const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false }
    writeFileSync(
      project,
      JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include: ['*.ts'], exclude: [] }),
    )
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      [join(ROOT, 'node_modules/typescript7/bin/tsc'), '-p', project, '--pretty', 'false', '--checkers', '2'],
      { encoding: 'utf8' },
    )
    const problems = [...stdout.matchAll(/^(?:.*\/)?([\w.-]+)\(\d+,\d+\): error TS\d+: (.*(?:\n .*)*)$/gm)]
    if (status !== 0 && problems.length === 0) throw new Error(`The compiler failed: ${stdout}${stderr}`)
    return problems.map(([, file, message = '']) => `${file}: ${message.replaceAll(/\s+/g, ' ')}`)
  } finally {
    remove()
  }
}
