const MAX_MESSAGE = 500

/** Why there was no answer: its code as Node gives it, and words. If several addresses were tried, each is named. */
export function errorOf(error: unknown): { readonly code: string; readonly message: string } {
  const { code, message, errors } = (error ?? {}) as { code?: unknown; message?: unknown; errors?: unknown }
  const parts: readonly unknown[] = Array.isArray(errors) && errors.length > 0 ? errors : [error]
  const [first] = parts as readonly { code?: unknown }[]
  const words = parts.map((part) => String((part as Error | undefined)?.message ?? part)).join('; ')
  return {
    code: String(code ?? first?.code ?? 'unknown_error'),
    message: (words || String(message)).slice(0, MAX_MESSAGE),
  }
}

/** An error with a code, as those of Node have one. */
export function codedError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
