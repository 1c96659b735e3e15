import { describeType } from './describe-type.js'

/**
 * Refuses options that are not an object, and unknown names: a misspelt option would silently mean its default.
 *
 * @param names all option names
 * @param place prefix of the names in messages, such as `signature.`. Default: none
 * @returns the options
 * @throws TypeError that lists the option names
 */
export function checkOptionNames<Options extends object>(
  options: Options,
  names: readonly string[],
  place = '',
): Options {
  if (!isRecord(options)) {
    const what = place === '' ? 'options' : place.replace(/\.$/, '')
    throw new TypeError(`${what} must be an object of ${names.join(', ')}; not ${describeType(options)}.`)
  }
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) {
      throw new TypeError(`There is no option ${place}${name}. The options are ${names.join(', ')}.`)
    }
  }
  return options
}

/**
 * Whether all its properties are its own: it is not an instance of a class, whose methods are inherited, and inherits from nothing but the
 * `Object.prototype` of its realm.
 */
export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null) return true
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, 'isPrototypeOf')
}

/** Whether it can hold options by name: a `Map`, an array or a promise would read as an empty object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(Symbol.iterator in value) && !('then' in value)
}
