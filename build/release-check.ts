// Checks that the tag of a release may be published: `npx tsx build/release-check.ts v0.2.0`. In the release workflow it passes on
// what the publishing job needs, which has no code of the repository.
import { execFileSync } from 'node:child_process'
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Manifest, manifestsIn, NO_REPOSITORY } from './manifests.js'

export interface Release {
  /** Such as `v0.2.0`. */
  readonly tag: string
  /** Of all packages, the first one first. */
  readonly manifests: readonly Manifest[]
  readonly changelog: string
  /** Whether the tagged commit is in the history of main. */
  readonly isOnMain: boolean
}

/** The problems of a release, as sentences for its maintainer. */
export function problemsOf({ tag, manifests, changelog, isOnMain }: Release): string[] {
  const version = tag.replace(/^v/, '')
  const problems: string[] = []
  if (manifests[0]?.repository === undefined) problems.push(NO_REPOSITORY)
  if (!isOnMain)
    problems.push(`The commit of ${tag} is not on main. Merge it first, then tag the merged commit.`)
  const headings = changelog.match(/^## .*$/gm) ?? []
  if (!headings.some((heading) => heading.split(' ')[1] === version)) {
    problems.push(`CHANGELOG.md has no heading "## ${version}".`)
  }
  for (const { name, version: given, peerDependencies = {} } of manifests) {
    if (tag !== `v${given}`) problems.push(`The tag is ${tag}, but the version of ${name} is ${given}.`)
    for (const peer of manifests) {
      const range = peerDependencies[peer.name]
      if (range !== undefined && range !== version) {
        problems.push(`The peer ${peer.name} of ${name} must be "${version}" exactly, but is "${range}".`)
      }
    }
  }
  return problems
}

/** The dist-tag: a prerelease is installed only by those who ask for it. */
export function distTagOf(version: string): 'latest' | 'next' {
  return version.includes('-') ? 'next' : 'latest'
}

/** Whether the checked-out commit is in the history of main, as the remote has it. */
export function isHeadOnMain(root: string): boolean {
  try {
    // It fails for a commit that is not there, and if there is no such branch, as in a shallow clone.
    execFileSync('git', ['merge-base', '--is-ancestor', 'HEAD', 'origin/main'], {
      cwd: root,
      stdio: 'ignore',
    })
    return true
  } catch {
    return false
  }
}

function main(root: string, tag: string): void {
  const manifests = manifestsIn(root).map(({ manifest }) => manifest)
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  const problems = problemsOf({ tag, manifests, changelog, isOnMain: isHeadOnMain(root) })
  if (problems.length > 0) {
    for (const problem of problems) console.error(problem)
    process.exitCode = 1
    return
  }
  const version = tag.replace(/^v/, '')
  const outputs = [
    `version=${version}`,
    `dist-tag=${distTagOf(version)}`,
    `packages=${manifests.map(({ name }) => name).join(' ')}`,
  ]
  console.info(outputs.join('\n'))
  const file = process.env.GITHUB_OUTPUT
  if (file !== undefined) appendFileSync(file, `${outputs.join('\n')}\n`)
}

if (process.argv[1]?.endsWith('release-check.ts')) main(process.cwd(), process.argv[2] ?? '')
