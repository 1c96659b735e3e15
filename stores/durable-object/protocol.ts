/** A call of the store, as it is sent to an object. */
export interface ObjectCall {
  readonly method: string
  readonly args: readonly unknown[]
}

/** JSON that keeps dates and bytes. */
export function encode(value: unknown): string {
  return JSON.stringify(value, function (this: Readonly<Record<string, unknown>>, name, json: unknown) {
    const one = this[name]
    if (one instanceof Date) return { $ms: one.getTime() }
    return one instanceof Uint8Array ? { $base64: base64Of(one) } : json
  })
}

/** @throws when it is no JSON */
export function decode(text: string): unknown {
  return JSON.parse(text, (_, value: { $ms?: number; $base64?: string } | null) => {
    if (typeof value?.$ms === 'number') return new Date(value.$ms)
    if (typeof value?.$base64 !== 'string') return value
    return Uint8Array.from(atob(value.$base64), (character) => character.charCodeAt(0))
  })
}

/** In parts, because a call has not as many arguments as a body has bytes. */
function base64Of(bytes: Uint8Array): string {
  let text = ''
  for (let i = 0; i < bytes.length; i += 8_192) text += String.fromCharCode(...bytes.subarray(i, i + 8_192))
  return btoa(text)
}
