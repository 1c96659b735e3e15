/** What is wrong with a part: some of its methods, made from the right ones. */
export type Patch<Part> = (right: Part) => Partial<Part>

/** A part that is right but for one fault, and the cases that must detect it. */
export interface Fault<Part> {
  readonly fault: string
  readonly seenBy: readonly string[]
  readonly patch: Patch<Part>
}

export function faultOf<Part>(
  what: string,
  seenBy: string | readonly string[],
  patch: Patch<Part>,
): Fault<Part> {
  return { fault: what, seenBy: [seenBy].flat(), patch }
}

/** Replaces methods of a part. The others call those, and the replaced ones can call what was there before. */
export function patched<Part extends object>(part: Part, patch: Patch<Part>): Part {
  const right: Part = Object.create(part)
  for (let proto: object = part; proto !== Object.prototype; proto = Object.getPrototypeOf(proto)) {
    for (const name of Object.getOwnPropertyNames(proto)) {
      const { value } = Object.getOwnPropertyDescriptor(proto, name) ?? {}
      if (typeof value === 'function' && !Object.hasOwn(right, name)) {
        Object.defineProperty(right, name, { value: value.bind(part) })
      }
    }
  }
  return Object.assign(part, patch(right))
}
