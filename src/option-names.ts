import { describeType } from './describe-type.js'

/**
 * Refuses options that are not there, and names that nothing reads: a misspelt option would silently mean its default.
 *
 * @param place what the options belong to, as the message says it: `signature.` or nothing
 * @throws TypeError that lists the names there are
 */
export function checkOptionNames(options: object, names: readonly string[], place = ''): void {
  if (!isRecord(options)) {
    const what = place === '' ? 'options' : place.replace(/\.$/, '')
    throw new TypeError(`${what} must be an object of ${names.join(', ')}; not ${describeType(options)}.`)
  }
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) {
      throw new TypeError(`There is no option ${place}${name}. The options are ${names.join(', ')}.`)
    }
  }
}

/** Whether it can hold options by name: a `Map`, a list or a promise would read as an empty object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(Symbol.iterator in value) && !('then' in value)
}
