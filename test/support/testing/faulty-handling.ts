import { type FaultyReceiver, HONEST, type OwnEvent } from '../own-receiver.js'

/** Faults in the handling of a verified delivery. */
export const FAULTY_HANDLING: readonly FaultyReceiver[] = [
  [
    'answers 200 to what is no JSON',
    {
      readJson: (body) => {
        try {
          return JSON.parse(body.toString())
        } catch {
          return { type: 'ping', created_at: 'now', data: {} }
        }
      },
    },
    ['not-json'],
  ],
  ['answers 400 to a payload that it cannot read', { onBadPayload: 400 }, ['not-json', 'not-an-envelope']],
  [
    'reads nothing but the type',
    {
      isEvent: (value) => typeof (value as OwnEvent | null)?.type === 'string',
      keyOf: ({ created_at }) => String(created_at),
    },
    ['not-an-envelope'],
  ],
  ['checks nothing of the event', { isEvent: () => true }, ['not-an-envelope']],
  [
    'has no use for created_at',
    {
      isEvent: (value) => HONEST.isEvent({ created_at: 'now', ...(value as object) }),
      keyOf: ({ data }) => data.order?.id,
    },
    ['not-an-envelope'],
  ],
  [
    'takes a list for data',
    {
      isEvent: (value) =>
        HONEST.isEvent({ ...(value as object), data: (value as OwnEvent | null)?.data && {} }),
      keyOf: ({ data }) => data.order?.id,
    },
    ['not-an-envelope'],
  ],
  ['answers 500 to kinds that it does not know', { onUnknownKind: 500 }, ['unknown-kind']],
  ['answers 404 to kinds that it does not know', { onUnknownKind: 404 }, ['unknown-kind']],
  [
    'finds methods of objects among its handlers',
    { findHandler: (handlers, type) => handlers[type] },
    ['unknown-kind'],
  ],
  [
    'takes every kind that begins like its own',
    {
      findHandler: (handlers, type) => Object.entries(handlers).find(([kind]) => type.startsWith(kind))?.[1],
      keyOf: ({ data }) => data.order?.id,
    },
    ['unknown-kind'],
  ],
  [
    'runs every time',
    { once: (_key, _memory, run) => run().then(() => 200) },
    ['duplicate', 'concurrent-burst'],
  ],
  [
    'looks whether it ran, and notes it afterwards',
    {
      async once(key, memory, run) {
        if (memory.has(key)) return 200
        await run()
        memory.set(key, 'done')
        return 200
      },
    },
    ['concurrent-burst'],
  ],
  [
    'answers 409 to a duplicate',
    { once: async (key, memory, run) => (memory.get(key) === 'done' ? 409 : HONEST.once(key, memory, run)) },
    ['duplicate'],
  ],
  [
    'answers 409 to what is under way',
    {
      once: async (key, memory, run) => (memory.get(key) === 'running' ? 409 : HONEST.once(key, memory, run)),
    },
    ['concurrent-burst'],
  ],
  ['knows a delivery by its signature', { keyOf: (_event, header) => String(header) }, ['duplicate']],
  ['knows an event by its kind', { keyOf: ({ type }) => type }, ['concurrent-burst']],
]
