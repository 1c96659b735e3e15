import * as z from 'zod'
import { Refusal } from '../../domain/refusal.js'

/** The fields of an envelope that a receiver relies on. */
const envelope = z.looseObject({
  type: z.string().min(1).max(200),
  created_at: z.iso.datetime({ offset: true }),
  data: z.record(z.string(), z.unknown()),
})

/** An envelope that was captured, to be sent as it is. */
export interface CapturedEvent {
  readonly type: string
  readonly data: object
  /** Exactly as it was captured. */
  readonly body: string
}

/** The options of a trigger that can contradict a captured event. */
interface RestOfRequest {
  readonly kind?: string
  readonly set?: object
  readonly data?: object
  readonly chain?: boolean
}

/**
 * Reads the envelope of a trigger.
 *
 * @throws Refusal that says what is wrong with it, or that it cannot be combined with the rest of the request
 */
export function readCaptured(event: string, { kind, set, data, chain }: RestOfRequest): CapturedEvent {
  if (data !== undefined || chain || Object.keys(set ?? {}).length > 0) {
    throw new Refusal({
      code: 'parameter_conflict',
      param: 'event',
      message: 'A captured event is sent as it is: leave out set, data and chain.',
    })
  }
  const read = envelope.safeParse(parsed(event))
  if (!read.success) {
    const [issue] = read.error.issues
    throw invalid(
      `It must be the body of a webhook, {"type","created_at","data"}: ${issue?.path.join('.') || 'it'} is wrong (${issue?.message}).`,
    )
  }
  const { type } = read.data
  if (kind !== undefined && kind !== type) {
    throw invalid(
      `Its type is ${JSON.stringify(type)}, and the kind ${JSON.stringify(kind)}: leave the kind out.`,
    )
  }
  return { type, data: read.data.data, body: event }
}

function parsed(event: unknown): unknown {
  if (typeof event !== 'string') throw invalid('It must be text: the body of a webhook, exactly as it came.')
  try {
    return JSON.parse(event)
  } catch (error) {
    throw invalid(`It is not JSON: ${(error as Error).message}`)
  }
}

const invalid = (message: string): Refusal =>
  new Refusal({
    code: 'parameter_invalid',
    param: 'event',
    message: `The captured event cannot be sent. ${message}`,
  })
