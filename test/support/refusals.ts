import { Failure } from '../../cli/failure.js'

/** How a command is refused. @throws Error when it is not, and whatever is no refusal */
export async function refusalOf(work: () => unknown): Promise<{ exitCode: number; message: string }> {
  try {
    await work()
  } catch (error) {
    if (error instanceof Failure) return { exitCode: error.exitCode, message: error.message }
    throw error
  }
  throw new Error('it was not refused')
}
