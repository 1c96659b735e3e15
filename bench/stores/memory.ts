import { memoryStore } from 'tix-webhooks'
import { type Arena, type Contender, throughStore } from './contender.js'

const MAX_KEYS = 5_000_000

export function memoryArena(): Arena {
  const name = 'memoryStore'
  let ours = throughStore(name, memoryStore({ maxKeys: MAX_KEYS }))
  let seen = new Set<string>()
  const byHand: Contender = {
    name: 'Set: has, add',
    async deliver(key) {
      if (seen.has(key)) return false
      seen.add(key)
      return true
    },
  }
  return {
    name,
    ours: { name, deliver: (key) => ours.deliver(key) },
    byHand: [byHand],
    inFlight: [1],
    reset() {
      ours = throughStore(name, memoryStore({ maxKeys: MAX_KEYS }))
      seen = new Set()
    },
    close: async () => {},
  }
}
