import { types } from 'node:util'
import { nearestName } from './nearest-name.js'

/**
 * Refuses options that are not an object, and unknown names: a misspelt option would silently mean its default.
 *
 * @param names all option names
 * @returns its own properties alone, whatever a library has set on `Object.prototype`
 * @throws TypeError that lists the option names, with the likely one if there is one
 */
export function checkOptionNames<Options extends object>(
  options: Options,
  names: readonly string[],
): Options {
  if (!isRecord(options)) {
    throw new TypeError(`The options must be an object of ${names.join(', ')}.`)
  }
  const unknown = Object.keys(options).find((name) => !names.includes(name))
  if (unknown !== undefined) {
    const nearest = nearestName(unknown, names)
    const meant = nearest === undefined ? '' : ` Did you mean ${nearest}?`
    throw new TypeError(`There is no option ${unknown}.${meant} The options are ${names.join(', ')}.`)
  }
  return Object.assign(Object.create(null), options)
}

/** Whether it can hold options by name: a `Map`, an array, a promise or a `Date` would read as an empty object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !(Symbol.iterator in value) &&
    !('then' in value) &&
    !types.isDate(value)
  )
}
