import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { answerTo, type OutcomeName } from 'tix-webhooks'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { resolveSettings } from '../src/settings.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** What the snippets take from the reader's own app. */
const READERS_OWN = `
import type { OrderCreatedData, OrderCreatedEvent } from 'tix-webhooks'
declare global {
  function issueTickets(order: string, tickets: unknown): Promise<void>
  function refreshListing(kind: string, data: unknown): Promise<void>
  function handleOrder(event: OrderCreatedEvent): Promise<void>
  function isNight(): boolean
  function book(order: object, options: { signal: AbortSignal }): Promise<void>
  function move(event: string, doorsAt: Date): Promise<void>
  function refund(order: string, cents: number): Promise<void>
  const orderData: OrderCreatedData
}
`

function snippetsOf(file: string, language: string): string[] {
  return [...read(file).matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, name, code]) =>
    name === language && code !== undefined ? [code] : [],
  )
}

/** The rows of the table under a heading, as the texts of their cells. */
function tableUnder(heading: string): string[][] {
  const section = read('README.md').split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
}

test('every snippet of the README compiles as it stands, under strict', () => {
  const folder = mkdtempSync(join(root, 'test', '.snippets-'))
  try {
    writeFileSync(join(folder, 'readers-own.ts'), READERS_OWN)
    const snippets = snippetsOf('README.md', 'ts')
    expect(snippets.length).toBeGreaterThan(8)
    const files = snippets.map((code, index) => {
      const file = join(folder, `snippet-${index + 1}.ts`)
      writeFileSync(file, code)
      return file
    })
    const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
    // A reader may see a parameter before the code that needs it.
    const lenient = { ...options, noUnusedLocals: false, noUnusedParameters: false }
    const program = ts.createProgram([join(folder, 'readers-own.ts'), ...files], lenient)
    const problems = ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
      const where = file?.fileName.split('/').at(-1)
      return `${where}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
    })
    expect(problems).toEqual([])
  } finally {
    rmSync(folder, { recursive: true })
  }
}, 60_000)

describe('the commands', () => {
  test('are exactly two for a fresh clone: the demo and the tests', () => {
    const commands = snippetsOf('README.md', 'sh').map((code) => code.trim())
    expect(commands.filter((command) => command.includes('npm ci'))).toEqual([
      'npm ci && npm run demo',
      'npm ci && npm test',
    ])
  })

  test('are what CI and the workflow run', () => {
    expect(read('.ci/run')).toContain('npm ci && npm test')
    expect(read('.github/workflows/test.yml')).toContain('run: npm ci && npm test')
  })
})

test('the table of answers has every outcome, with the status that it really gets', () => {
  const promised = tableUnder('What the sender is told, and what it does next')
  expect(promised).toHaveLength(16)
  for (const [outcome, status] of promised) {
    expect(String(answerTo({ outcome: outcome as OutcomeName }).status)).toBe(status)
  }
})

test('the table of deadlines has the defaults that really hold', () => {
  const settings = resolveSettings({ secret: 'whsec_test', on: {} })
  const really: Record<string, number> = {
    timeoutSeconds: settings.timeoutMs / 1000,
    maxRunSeconds: settings.maxRunMs / 1000,
    leaseSeconds: settings.leaseMs / 1000,
    retentionSeconds: settings.retainMs / 1000,
    toleranceSeconds: settings.toleranceSeconds,
    maxBodyBytes: settings.maxBodyBytes,
  }
  const promised = tableUnder('Deadlines').map(([option, value]) => [
    option,
    Number(value?.replaceAll(',', '')),
  ])
  expect(Object.fromEntries(promised)).toEqual(really)
})

test('every file that the README links to is there', () => {
  const links = [...read('README.md').matchAll(/\]\((?!https?:|#)([^)]+)\)/g)].map(
    ([, file]) => file as string,
  )
  expect(links.length).toBeGreaterThan(3)
  for (const file of links) expect(read(file).length).toBeGreaterThan(0)
})
