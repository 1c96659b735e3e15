import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { apiReports } from '../../build/api.js'
import packageJson from '../../package.json' with { type: 'json' }
import { build } from '../support/packed.js'
import { ROOT } from '../support/root.js'

const HOW =
  'The public types are not those of api/. If the change is meant: npm run api, and a line in CHANGELOG.md.'

const fileOf = (subpath: string): string => `${subpath.slice(2).replace('/', '-') || 'index'}.md`
const FILES = Object.keys(packageJson.exports)
  .filter((subpath) => subpath !== './package.json')
  .map(fileOf)

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
