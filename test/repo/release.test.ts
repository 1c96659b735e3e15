import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { manifestsIn, NO_REPOSITORY } from '../../build/manifests.js'
import { distTagOf, problemsOf, type Release } from '../../build/release-check.js'
import { bin } from '../support/packed.js'
import { readPage } from '../support/pages.js'
import { ROOT } from '../support/root.js'

const WORKFLOWS = '.github/workflows'

interface Job {
  readonly needs?: string | readonly string[]
  readonly permissions?: unknown
  readonly environment?: unknown
  readonly steps?: readonly { readonly uses?: string; readonly run?: string }[]
}

interface Workflow {
  readonly permissions?: unknown
  readonly jobs: Readonly<Record<string, Job>>
}

const workflows = readdirSync(ROOT + WORKFLOWS).map((name) => {
  const text = readPage(`${WORKFLOWS}/${name}`)
  return { name, text, workflow: parse(text) as Workflow }
})
const release = workflows.find(({ name }) => name === 'release.yml')?.workflow as Workflow
const { publish = {}, ...others } = release.jobs
const jobs = workflows.flatMap(({ workflow }) => Object.values(workflow.jobs))

describe('the workflows', () => {
  test('name every action by the hash of one commit, with its version beside it', () => {
    const used = workflows.flatMap(({ text }) => text.match(/\buses: .*$/gm) ?? [])
    expect(used.length).toBeGreaterThan(5)
    const own = 'uses: ./.github/workflows/test.yml'
    const unpinned = used.filter((line) => !/^uses: [\w-]+\/[\w-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/.test(line))
    expect(unpinned).toEqual([own])
    const pins = new Set(used.filter((line) => line !== own))
    expect(pins.size).toBe(new Set([...pins].map((pin) => pin.split('@')[0])).size)
  })

  test('give only the publishing job a right', () => {
    for (const { workflow } of workflows) expect(workflow.permissions).toEqual({ contents: 'read' })
    expect(jobs.filter(({ permissions }) => permissions !== undefined)).toEqual([publish])
    expect(publish.permissions).toEqual({ 'id-token': 'write' })
  })

  test('keep no credentials, have no secret, and put no value of GitHub into a command', () => {
    for (const { text } of workflows) {
      const checkouts = text.match(/actions\/checkout@.*\n.*\n.*$/gm) ?? []
      expect(checkouts.filter((lines) => !lines.includes('persist-credentials: false'))).toEqual([])
      expect(text).not.toMatch(/secrets\.|pull_request_target/)
    }
    const commands = jobs.flatMap(({ steps = [] }) => steps.flatMap(({ run }) => run ?? []))
    expect(commands.length).toBeGreaterThan(3)
    expect(commands.filter((command) => command.includes('${{'))).toEqual([])
  })
})

describe('the publishing job', () => {
  const { steps = [] } = publish

  test('waits for all others, and for the approval of its environment', () => {
    expect([...(publish.needs ?? [])].sort()).toEqual(Object.keys(others).sort())
    expect(publish.environment).toBe('npm')
  })

  test('has the tarballs, and neither the repository nor its dependencies', () => {
    const actions = steps.flatMap(({ uses }) => uses?.split('@') ?? []).filter((part) => part.includes('/'))
    expect(actions).toEqual(['actions/setup-node', 'actions/download-artifact'])
    const commands = steps.flatMap(({ run }) => run?.match(/\b(?:npm|npx|node|git|curl|tsx) .*/g) ?? [])
    const tarball = '"./$name-$VERSION.tgz" --ignore-scripts --provenance --access public --tag "$DIST_TAG"'
    expect(commands).toEqual([
      // It only asks.
      'npm view "$name@$VERSION" version)" ]; then',
      `npm publish ${tarball}`,
    ])
  })

  const RUNS = [
    { published: '', expected: ['first-1.0.0', 'second-1.0.0'] },
    { published: 'first@1.0.0', expected: ['second-1.0.0'] },
    { published: 'first@1.0.0 second@1.0.0', expected: [] },
  ]

  test.each(RUNS)(
    'publishes in order what is not published, here $published is',
    ({ published, expected }) => {
      const folder = temporary()
      const npm = `#!/bin/sh
      if [ "$1" = view ]; then
        case " $PUBLISHED " in *" $2 "*) echo 1.0.0;; *) echo E404 >&2; exit 1;; esac
      else echo "$*" >> "${folder}/published"; fi\n`
      writeFileSync(join(folder, 'npm'), npm, { mode: 0o755 })
      writeFileSync(join(folder, 'published'), '')
      const script = steps.at(-1)?.run ?? ''
      // As GitHub runs it.
      execFileSync('bash', ['-e', '-c', script], {
        env: {
          PATH: `${folder}:${process.env.PATH}`,
          PUBLISHED: published,
          PACKAGES: 'first second',
          VERSION: '1.0.0',
          DIST_TAG: 'latest',
        },
        stdio: 'pipe',
      })
      const lines = readFileSync(join(folder, 'published'), 'utf8').trim().split('\n').filter(Boolean)
      expect(lines).toEqual(
        expected.map(
          (name) => `publish ./${name}.tgz --ignore-scripts --provenance --access public --tag latest`,
        ),
      )
    },
  )
})

describe('the check of a release', () => {
  const first = { name: 'first', version: '0.2.0', repository: 'https://git.example/owner/name' }
  const second = { name: 'second', version: '0.2.0', peerDependencies: { first: '0.2.0', express: '^5.0.0' } }
  const sound: Release = {
    tag: 'v0.2.0',
    manifests: [first, second],
    changelog: '# Changelog\n\n## 0.2.0\n\n- Add\n\n## 0.1.0\n',
    isOnMain: true,
  }

  test.each<[string, Partial<Release>, string[]]>([
    ['accepts one', {}, []],
    ['wants the address', { manifests: [{ name: 'first', version: '0.2.0' }] }, [NO_REPOSITORY]],
    [
      'wants the commit on main',
      { isOnMain: false },
      ['The commit of v0.2.0 is not on main. Merge it first, then tag the merged commit.'],
    ],
    [
      'wants a heading',
      { changelog: '## 0.2.0-rc.1\n\n### 0.2.0\n' },
      ['CHANGELOG.md has no heading "## 0.2.0".'],
    ],
    [
      'wants the version in each package',
      { manifests: [first, { name: 'second', version: '0.1.0' }] },
      ['The tag is v0.2.0, but the version of second is 0.1.0.'],
    ],
    [
      'wants the peer to be the same version',
      { manifests: [first, { ...second, peerDependencies: { first: '^0.2.0' } }] },
      ['The peer first of second must be "0.2.0" exactly, but is "^0.2.0".'],
    ],
  ])('%s', (_, change, problems) => {
    expect(problemsOf({ ...sound, ...change })).toEqual(problems)
  })

  test('asks git, and passes on what is to be published', () => {
    const remote = join(temporary(), 'remote')
    const settings = ['user.name=Test', 'user.email=test@example.com', 'commit.gpgsign=false']
    const git = (cwd: string, ...args: string[]): unknown =>
      execFileSync('git', [...settings.flatMap((one) => ['-c', one]), ...args], { cwd, stdio: 'pipe' })
    mkdirSync(remote)
    git(remote, 'init', '--quiet', '--initial-branch=main')
    writeFileSync(join(remote, 'package.json'), JSON.stringify({ ...first, version: '0.2.0-rc.1' }))
    writeFileSync(join(remote, 'CHANGELOG.md'), '## 0.2.0-rc.1\n')
    git(remote, 'add', '.')
    git(remote, 'commit', '--quiet', '-m', 'Release')
    const clone = join(temporary(), 'clone')
    git(remote, 'clone', '--quiet', remote, clone)
    const outputs = join(clone, 'outputs')
    const check = () =>
      spawnSync(bin('tsx'), [`${ROOT}build/release-check.ts`, 'v0.2.0-rc.1'], {
        cwd: clone,
        encoding: 'utf8',
        env: { ...process.env, GITHUB_OUTPUT: outputs },
      })
    expect(check()).toMatchObject({ stderr: '', status: 0 })
    expect(readFileSync(outputs, 'utf8')).toBe('version=0.2.0-rc.1\ndist-tag=next\npackages=first\n')
    git(clone, 'commit', '--quiet', '--allow-empty', '-m', 'Not merged')
    expect(check()).toMatchObject({ stderr: expect.stringContaining('not on main'), status: 1 })
    expect(distTagOf('1.0.0')).toBe('latest')
  })

  test('would accept the versions of this repository', () => {
    const manifests = manifestsIn(ROOT).map(({ manifest }) => manifest)
    const tag = `v${manifests[0]?.version}`
    const problems = problemsOf({ tag, manifests, changelog: readPage('CHANGELOG.md'), isOnMain: true })
    // pack.test.ts says what is missing.
    expect(problems.filter((problem) => problem !== NO_REPOSITORY)).toEqual([])
  })
})

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tix-webhooks-release-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}
