import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { ROOT } from './source.js'

/** Declarations that snippets expect from the reader's own app. */
const READERS_OWN = `
import type { OrderCreatedData, OrderCreatedEvent } from 'tix-webhooks'
declare global {
  function issueTickets(order: string, tickets?: unknown): Promise<void>
  function refreshListing(kind: string, data: unknown): Promise<void>
  function handleOrder(event: OrderCreatedEvent): Promise<void>
  function isNight(): boolean
  function book(order: OrderCreatedData['order'], tickets: OrderCreatedData['tickets'], options: { signal: AbortSignal }): Promise<void>
  function keepForLater(event: OrderCreatedEvent, key: string | null, error: unknown): Promise<void>
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
    const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile)
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT)
    // A snippet may show a parameter before the code that uses it.
    const lenient = { ...options, noUnusedLocals: false, noUnusedParameters: false }
    return ts.getPreEmitDiagnostics(ts.createProgram(files, lenient)).map(({ file, messageText }) => {
      const where = file?.fileName.split('/').at(-1)
      return `${where}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
    })
  } finally {
    remove()
  }
}
