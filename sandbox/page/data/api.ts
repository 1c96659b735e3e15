/** Asks the control of the sandbox. @throws Error with what it says */
export async function call<Answer>(
  method: string,
  path: string,
  body?: object,
  signal?: AbortSignal,
): Promise<Answer> {
  const response = await fetch(`/_sandbox${path}`, {
    method,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
    signal: signal ?? null,
  }).catch((error: unknown) => {
    throw signal?.aborted ? error : new Error('The sandbox does not answer: is it still running?')
  })
  const text = await response.text()
  if (response.ok) return (text === '' ? undefined : JSON.parse(text)) as Answer
  throw new Error(messageIn(text) ?? `The sandbox answered ${response.status}.`)
}

export const get = <Answer>(path: string, signal?: AbortSignal): Promise<Answer> =>
  call<Answer>('GET', path, undefined, signal)

export const post = <Answer>(path: string, body: object = {}): Promise<Answer> =>
  call<Answer>('POST', path, body)

function messageIn(text: string): string | undefined {
  try {
    return JSON.parse(text).error.message
  } catch {
    return undefined
  }
}
