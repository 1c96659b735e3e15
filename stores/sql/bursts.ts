import { StoreError } from '../../src/index.js'
import { monotonicMs } from '../../src/internal.js'

/** Sends one request, alone or with others of its kind. */
export type Burst<Request, Answer> = (request: Request) => Promise<Answer>

/** How the requests of one kind are sent. */
export interface BurstKind<Request, Answer> {
  /** The most requests in one statement. */
  readonly size: number
  /** Sends some, each of another key and in the order of keys; returns their answers in that order. */
  send(requests: readonly Request[]): Promise<readonly Answer[]>
  /** The bytes of a request that has many: those that wait are bounded. */
  bytesOf?(request: Request): number
  /** A request that has waited longer, in milliseconds, is rejected when its turn comes: its answer would find no caller. */
  readonly waitMs: number
}

export interface BurstLimits {
  /** The most statements under way at once, of all kinds. */
  readonly total: number
  /** The most of one kind. */
  readonly perKind: number
  /**
   * Whether the backend undid a whole statement because of one of its requests: the others are then sent again without it. It must
   * not return true for a connection that is lost or silent, or every failure of the backend would multiply the statements.
   */
  isOfOneRequest(error: unknown): boolean
}

/** The most bytes of one kind that wait or are under way, in this process. */
const MAX_BYTES = 64 * 2 ** 20

interface Call<Request, Answer> {
  readonly request: Request
  readonly sinceMs: number
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/** One kind, as the order of turns needs it. */
interface Turns {
  canSend(): boolean
  /** Sends one statement, and resolves when all of its requests are settled. */
  send(): Promise<void>
}

/**
 * Makes bursts that share one set of limits: a request is sent at once while a statement may be, and otherwise together with all that
 * arrive before one returns. There is no timer. The requests of a key are sent one after the other, in the order of their arrival: a
 * statement must not have the same row twice, nor wait for a row of another one.
 */
export function createBursts(
  limits: BurstLimits,
): <Request extends { readonly key: string }, Answer>(
  kind: BurstKind<Request, Answer>,
) => Burst<Request, Answer> {
  const kinds: Turns[] = []
  /** The index of the kind whose turn it is: a busy one cannot keep the others waiting. */
  let turn = 0
  let underWay = 0
  let isScheduled = false

  /** At the end of this turn: calls that arrive together, such as the completions of claims that were granted together, go together. */
  function sendSoon(): void {
    if (isScheduled) return
    isScheduled = true
    queueMicrotask(() => {
      isScheduled = false
      sendAll()
    })
  }

  function sendAll(): void {
    for (let passed = 0; passed < kinds.length && underWay < limits.total; turn = (turn + 1) % kinds.length) {
      const kind = kinds[turn] as Turns
      if (kind.canSend()) {
        passed = 0
        underWay++
        kind.send().then(end, end)
      } else passed++
    }
  }

  function end(): void {
    underWay--
    sendAll()
  }

  return (kind) => {
    const queue = keyedQueue(limits, kind)
    kinds.push(queue)
    return (request) =>
      new Promise((resolve, reject) => {
        queue.add({ request, sinceMs: monotonicMs(), resolve, reject })
        sendSoon()
      })
  }
}

/** The requests of one kind that wait, or are under way. */
function keyedQueue<Request extends { readonly key: string }, Answer>(
  { perKind, isOfOneRequest }: BurstLimits,
  { size, send, waitMs, bytesOf = () => 0 }: BurstKind<Request, Answer>,
): Turns & { add(call: Call<Request, Answer>): void } {
  /** Each has another key, and none has one of a statement under way. */
  const ready = new Set<Call<Request, Answer>>()
  /** For each key that is ready or under way: the calls behind it. */
  const behind = new Map<string, Call<Request, Answer>[]>()
  let underWay = 0
  let bytes = 0

  /** To be called when a call is settled. */
  function free({ request }: Call<Request, Answer>): void {
    bytes -= bytesOf(request)
    const { key } = request
    const next = behind.get(key)?.shift()
    if (next === undefined) behind.delete(key)
    else ready.add(next)
  }

  function answer(calls: readonly Call<Request, Answer>[], answers: readonly Answer[]): void {
    for (let i = 0; i < calls.length; i++) {
      const call = calls[i] as Call<Request, Answer>
      call.resolve(answers[i] as Answer)
      free(call)
    }
  }

  function fail(calls: readonly Call<Request, Answer>[], error: unknown): void {
    for (const call of calls) {
      call.reject(error)
      free(call)
    }
  }

  /** Takes the calls of the next statement. It can find that nobody waits for them any longer. */
  function take(): Call<Request, Answer>[] {
    const taken: Call<Request, Answer>[] = []
    const oldestMs = monotonicMs() - waitMs
    for (const call of ready) {
      if (taken.length === size) break
      ready.delete(call)
      if (call.sinceMs < oldestMs) fail([call], waitedTooLong(waitMs))
      else taken.push(call)
    }
    return taken.length === 1 ? taken : taken.sort((a, b) => (a.request.key < b.request.key ? -1 : 1))
  }

  /** By halves, if one request of many fails them all: that finds it with few statements, and never takes more than twice as many as requests. */
  async function deliver(calls: readonly Call<Request, Answer>[]): Promise<void> {
    const parts = [calls]
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      try {
        if (part.length > 0) answer(part, await send(part.map(({ request }) => request)))
      } catch (error) {
        if (!isOfOneRequest(error)) return fail([part, ...parts].flat(), error)
        const half = Math.ceil(part.length / 2)
        if (part.length === 1) fail(part, error)
        else parts.push(part.slice(half), part.slice(0, half))
      }
    }
  }

  return {
    add(call) {
      const added = bytesOf(call.request)
      if (bytes > 0 && bytes + added > MAX_BYTES) return call.reject(tooManyBytes())
      bytes += added
      const others = behind.get(call.request.key)
      if (others !== undefined) others.push(call)
      else {
        behind.set(call.request.key, [])
        ready.add(call)
      }
    },
    canSend: () => ready.size > 0 && underWay < perKind,
    async send() {
      underWay++
      try {
        await deliver(take())
      } finally {
        underWay--
      }
    },
  }
}

function waitedTooLong(waitMs: number): StoreError {
  return new StoreError(
    'store_unavailable',
    `The backend answers too slowly, or not at all: after ${waitMs / 1000} s behind other calls, this one was not sent.`,
  )
}

function tooManyBytes(): StoreError {
  return new StoreError(
    'store_unavailable',
    `Failures of ${MAX_BYTES / 2 ** 20} MiB wait to be kept, so this one was not sent: is the database slow, or do all deliveries fail?`,
  )
}
