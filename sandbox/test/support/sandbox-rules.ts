import { readFileSync } from 'node:fs'
import { ROOT } from '../../../test/support/root.js'

/** A testable rule of the service. A test names it in its title: `[S12] refuses …`. */
export interface Rule {
  /** `S…` from the specification, `N…` from an assumption about what it leaves open. Never reused for another rule. */
  readonly id: string
  /** The sections of the specification; for an assumption, its subject. */
  readonly section: string
  readonly says: string
}

const ROW = /^\| ([SN]\d+) \| ([^|]+) \| (.+) \|$/

/** All rules of `sandbox/domain/RULES.md`, each of which a test must name. */
export const RULES: readonly Rule[] = readFileSync(`${ROOT}sandbox/domain/RULES.md`, 'utf8')
  .split('\n')
  .flatMap((line) => {
    const [, id, section, says] = ROW.exec(line) ?? []
    return id === undefined || section === undefined || says === undefined ? [] : [{ id, section, says }]
  })
