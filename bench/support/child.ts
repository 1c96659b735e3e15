import { fork } from 'node:child_process'

/** A process that answers questions. */
export interface Child {
  /** One question at a time. */
  ask<Answer>(question: unknown): Promise<Answer>
  end(): Promise<void>
}

/** Starts a script as a child process, with the same loader as this one. */
export function startChild(script: URL, args: readonly string[] = []): Child {
  const name = [script.pathname.split('/').at(-1), ...args].join(' ')
  const child = fork(script, args)
  let answered: ((message: { answer?: unknown; error?: string }) => void) | undefined
  let isEnding = false
  const exited = new Promise<void>((resolve) => {
    child.once('exit', (code) => {
      answered?.({ error: `exited with ${code}` })
      resolve()
    })
  })
  child.on('message', (message: object) => answered?.(message))
  return {
    async ask<Answer>(question: unknown) {
      if (answered !== undefined) throw new Error(`${name} is still busy`)
      const { answer, error } = await new Promise<{ answer?: unknown; error?: string }>((resolve) => {
        answered = resolve
        child.send({ question })
      })
      answered = undefined
      if (error !== undefined && !isEnding) throw new Error(`${name}: ${error}`)
      return answer as Answer
    },
    async end() {
      isEnding = true
      child.disconnect()
      await exited
    },
  }
}

/** Answers the questions of the parent process, and exits with it. */
export function answerQuestions<Question>(answer: (question: Question) => unknown): void {
  process.on('message', async ({ question }: { question: Question }) => {
    try {
      process.send?.({ answer: await answer(question) })
    } catch (error) {
      process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  })
  process.once('disconnect', () => process.exit())
  // The parent may have exited while this process was loading.
  if (!process.connected) process.exit()
}
