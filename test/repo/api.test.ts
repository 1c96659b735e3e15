import { existsSync, readdirSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { beforeAll, describe, expect, test } from 'vitest'
import { apiReports } from '../../build/api.js'
import receiverJson from '../../package.json' with { type: 'json' }
import { build } from '../support/packed.js'
import { ROOT } from '../support/root.js'

const HOW =
  'The public types are not those of api/. If the change is meant: npm run api, and a line in CHANGELOG.md.'

const fileOf = (subpath: string): string => `${subpath.slice(2).replace('/', '-') || 'index'}.md`
const FILES = [
  ...Object.keys(receiverJson.exports)
    .filter((subpath) => subpath !== './package.json')
    .map(fileOf),
  // The one entry of the second package.
  'sandbox.md',
]

let reports: ReadonlyMap<string, string>
beforeAll(() => {
  build()
  reports = apiReports()
}, 120_000)

test('there is a report for each entry, and no other', () => {
  expect(readdirSync(`${ROOT}api`).sort(), HOW).toEqual([...FILES].sort())
})

test.each(FILES)('api/%s is what the build declares', (file) => {
  const committed = existsSync(`${ROOT}api/${file}`) ? readFileSync(`${ROOT}api/${file}`, 'utf8') : ''
  expect(reports.get(file), HOW).toBe(committed)
})

test('a report names the exports, what they are made of, and what they take from other packages', () => {
  const express = reports.get('express.md')
  expect(express).toContain("import { NextFunction } from 'express'")
  expect(express).toContain('function tixWebhooks<')
  expect(reports.get('index.md')).toMatch(/## Used above, and not exported\n+```ts\n[\s\S]*type EventByKind</)
})

describe('the reports are written alike:', () => {
  /** The order of type parameters: the event, the request or what its type is made of, the transaction, the schemas. */
  const ORDER = [
    ['Event', 'Kind', 'Key'],
    ['Request', 'Params', 'Route', 'E'],
    ['Tx'],
    ['Schemas'],
    ['Found'],
  ]

  function nodesOf(file: string): ts.Node[] {
    const code = [...(reports.get(file) ?? '').matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block]) => block)
    const found: ts.Node[] = []
    const visit = (node: ts.Node): void => {
      found.push(node)
      node.forEachChild(visit)
    }
    visit(ts.createSourceFile(file, code.join('\n'), ts.ScriptTarget.Latest, true))
    return found
  }

  test('type parameters have one order', () => {
    const lists = FILES.flatMap(nodesOf)
      .map(
        (node) =>
          (node as { typeParameters?: ts.NodeArray<ts.TypeParameterDeclaration> }).typeParameters ?? [],
      )
      .map((parameters) => parameters.map(({ name }) => name.text))
    const placesOf = (names: readonly string[]): number[] =>
      names.map((name) => ORDER.findIndex((row) => row.includes(name))).filter((place) => place !== -1)
    const wrong = lists.filter((names) => placesOf(names).some((place, i, all) => place < (all[i - 1] ?? 0)))
    expect(wrong).toEqual([])
    expect(lists).toEqual(
      expect.arrayContaining([
        ['Request', 'Tx', 'Schemas', 'Found'],
        ['Params', 'Tx', 'Schemas', 'Found'],
      ]),
    )
  })

  test('`now` is a function of nothing', () => {
    // The sandbox has a clock of its own.
    const types = FILES.filter((file) => file !== 'sandbox.md')
      .flatMap(nodesOf)
      .filter((node) => ts.isPropertySignature(node) || ts.isParameter(node))
      .filter(({ name }) => name.getText() === 'now')
      .map(({ type }) => type?.getText())
    expect(new Set(types)).toEqual(new Set(['(() => number) | undefined', '() => number']))
  })
})
