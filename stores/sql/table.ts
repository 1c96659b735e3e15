import { StoreError } from '../../src/index.js'

/**
 * @param given the user's text: a name, or that of the place of the table (a schema, or a database), a dot and a name
 * @throws TypeError when it is neither
 */
export function namesIn(given: string, place: string, longest: number): [table: string, place?: string] {
  const names = new RegExp(`^([A-Za-z_]\\w{0,${longest - 1}}\\.)?[A-Za-z_]\\w{0,47}$`)
  if (typeof given !== 'string' || !names.test(given)) {
    throw new TypeError(
      `table must be a name of 1 to 48 letters, digits and _, such as 'webhooks', or a ${place} and such a name, such as 'app.webhooks'.`,
    )
  }
  return given.split('.').reverse() as [string, string?]
}

export function otherTable(name: string, missing: readonly unknown[]): StoreError {
  return new StoreError(
    'store_unavailable',
    `There is a table ${name} in which these columns are missing or of another kind: ${missing.join(', ')}. It was created by another version or another program. Rename it, or choose another name with the table option; docs/moving.md has the statements that carry over the records of 0.1.0.`,
  )
}
