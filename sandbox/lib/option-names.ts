/**
 * Refuses options that are not an object, and unknown names: a misspelt option would silently mean its default.
 *
 * @param names all option names
 * @returns its own properties alone, whatever a library has set on `Object.prototype`
 * @throws TypeError that lists the option names
 */
export function checkOptionNames<Options extends object>(
  options: Options,
  names: readonly string[],
): Options {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new TypeError(`The options must be an object of ${names.join(', ')}.`)
  }
  const unknown = Object.keys(options).find((name) => !names.includes(name))
  if (unknown !== undefined) {
    throw new TypeError(`There is no option ${unknown}. The options are ${names.join(', ')}.`)
  }
  return Object.assign(Object.create(null), options)
}
