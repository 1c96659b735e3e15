import { Failure } from '../../cli/failure.js'

/** The refusal of a command. @throws Error when it is not refused, and any error that is not a refusal */
export async function cliRefusalOf(work: () => unknown): Promise<{ exitCode: number; message: string }> {
  try {
    await work()
  } catch (error) {
    if (error instanceof Failure) return { exitCode: error.exitCode, message: error.message }
    throw error
  }
  throw new Error('it was not refused')
}
