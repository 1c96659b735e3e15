import { readFileSync } from 'node:fs'
import { ROOT } from './source.js'

/** A rule of the service that can be checked. A test names it in its title: `[S12] refuses …`. */
export interface Rule {
  /** `S…` from the specification, `N…` from what is assumed where it is silent. Never given to another rule. */
  readonly id: string
  /** The sections of the specification; of an assumption, what it is about. */
  readonly section: string
  readonly says: string
}

const ROW = /^\| ([SN]\d+) \| ([^|]+) \| (.+) \|$/

/** All rules, each of which a test must name: those of `docs/sandbox-rules.md`. */
export const RULES: readonly Rule[] = readFileSync(`${ROOT}docs/sandbox-rules.md`, 'utf8')
  .split('\n')
  .flatMap((line) => {
    const [, id, section, says] = ROW.exec(line) ?? []
    return id === undefined || section === undefined || says === undefined ? [] : [{ id, section, says }]
  })
