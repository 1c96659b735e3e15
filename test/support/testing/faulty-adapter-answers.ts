import type { Outcome, OutcomeName } from 'tix-webhooks'
import { type AdapterFault, PlainAdapter } from './plain-adapter.js'

const REFUSALS = [
  'attack-missing-header',
  'attack-malformed-header',
  'attack-tampered',
  'attack-rewritten',
  'attack-wrong-secret',
  'attack-stale',
  'attack-future',
  'attack-truncated',
  'attack-other-endpoint',
  'attack-empty',
  'attack-not-json',
  'attack-not-envelope',
]

/** Makes something else of the response to an outcome. */
function responding(change: (response: Response, outcome: Outcome) => Response): AdapterFault['Adapter'] {
  return class extends PlainAdapter {
    override respond(outcome: Outcome): Response {
      return change(super.respond(outcome), outcome)
    }
  }
}

/** Sends another status for some outcomes. */
function answering(statuses: Partial<Record<OutcomeName, number>>): AdapterFault['Adapter'] {
  return responding(({ status, headers }, { outcome }) => {
    return new Response(JSON.stringify({ outcome }), { status: statuses[outcome] ?? status, headers })
  })
}

function without(name: string): AdapterFault['Adapter'] {
  return responding((response) => {
    response.headers.delete(name)
    return response
  })
}

const messageOf = ({ error }: Outcome): string => {
  const { message = '' } = (error ?? {}) as Partial<Error>
  return message
}

/** Faults in the answer. */
export const FAULTY_ANSWERS: readonly AdapterFault[] = [
  {
    fault: 'answers 200 to everything',
    seenBy: [...REFUSALS, 'answer-failed', 'answer-misconfigured', 'answer-unprocessable', 'size-too-large'],
    Adapter: responding(() => Response.json({ outcome: 'handled' })),
  },
  {
    fault: 'answers before the handler is done',
    seenBy: ['answer-handled', 'answer-failed', 'answer-timed-out'],
    Adapter: class extends PlainAdapter {
      override async handle(request: Request): Promise<Response> {
        void super.handle(request)
        await new Promise((resolve) => setImmediate(resolve))
        return super.respond({ outcome: 'handled' })
      }
    },
  },
  {
    fault: 'answers with a status alone',
    seenBy: ['answer-handled', 'attack-missing-header'],
    Adapter: responding(({ status, headers }) => new Response(null, { status, headers })),
  },
  {
    fault: 'answers 202 to what it handled',
    seenBy: ['answer-handled'],
    Adapter: answering({ handled: 202 }),
  },
  {
    fault: 'answers 409 to what was handled before',
    seenBy: ['answer-duplicate', 'attack-duplicate'],
    Adapter: answering({ duplicate: 409 }),
  },
  {
    fault: 'answers 404 to a kind that nobody wants',
    seenBy: ['answer-unhandled', 'attack-unknown-kind'],
    Adapter: answering({ unhandled: 404 }),
  },
  {
    fault: 'answers 410 to what is discarded',
    seenBy: ['answer-discarded'],
    Adapter: answering({ discarded: 410 }),
  },
  {
    fault: 'answers 403 to a wrong signature',
    seenBy: ['attack-wrong-secret', 'body-mark-unsigned'],
    Adapter: answering({ unauthenticated: 403 }),
  },
  {
    fault: 'answers 422 to what is no event',
    seenBy: ['answer-unprocessable', 'attack-not-json', 'attack-not-envelope'],
    Adapter: answering({ unprocessable: 422 }),
  },
  {
    fault: 'answers 429 to what is in flight',
    seenBy: ['answer-in-flight', 'attack-burst'],
    Adapter: answering({ in_flight: 429 }),
  },
  {
    fault: 'answers 504 at the deadline',
    seenBy: ['answer-timed-out'],
    Adapter: answering({ timed_out: 504 }),
  },
  {
    fault: 'drops Retry-After',
    seenBy: ['answer-retry-later', 'answer-in-flight', 'answer-unavailable', 'answer-timed-out'],
    Adapter: without('retry-after'),
  },
  {
    fault: 'says another Retry-After',
    seenBy: ['answer-retry-later', 'answer-in-flight'],
    Adapter: responding((response) => {
      if (response.headers.has('retry-after')) response.headers.set('retry-after', '5')
      return response
    }),
  },
  {
    fault: 'says Retry-After always',
    seenBy: ['answer-handled', 'answer-failed'],
    Adapter: responding((response) => {
      response.headers.set('retry-after', '5')
      return response
    }),
  },
  { fault: 'drops the content-type', seenBy: ['answer-handled'], Adapter: without('content-type') },
  {
    fault: 'says that it answers text',
    seenBy: ['answer-handled'],
    Adapter: responding((response) => {
      response.headers.set('content-type', 'text/plain')
      return response
    }),
  },
  {
    fault: 'tells the message of an error in the body',
    seenBy: ['answer-failed', 'answer-discarded', 'answer-retry-later'],
    Adapter: responding(({ status, headers }, outcome) =>
      Response.json({ outcome: outcome.outcome, message: messageOf(outcome) }, { status, headers }),
    ),
  },
  {
    fault: 'tells the message of an error in a header',
    seenBy: ['answer-failed', 'answer-error', 'answer-discarded'],
    Adapter: responding((response, outcome) => {
      response.headers.set('x-error', messageOf(outcome))
      return response
    }),
  },
  {
    fault: 'lets an error decide the status',
    seenBy: ['answer-error'],
    Adapter: responding(({ status, headers }, { outcome, error }) => {
      const { status: wanted = status } = (error ?? {}) as { status?: number }
      return new Response(JSON.stringify({ outcome }), { status: wanted, headers })
    }),
  },
  {
    fault: 'does not answer when the handler fails',
    seenBy: ['answer-failed'],
    Adapter: class extends PlainAdapter {
      override async handle(request: Request): Promise<Response> {
        const response = await super.handle(request)
        return response.ok ? response : new Promise(() => {})
      }
    },
  },
]
