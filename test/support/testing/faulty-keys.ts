import type { ClaimRequest, ClaimResult, Lease } from 'tix-webhooks'
import { turns } from '../promises.js'
import type { Fault } from './faulty-stores.js'
import { type PlainRecord, PlainStore } from './plain-store.js'

/** A store that takes some keys for others. */
function withKeys(fault: string, seenBy: string, keyOf: (key: string) => string): Fault {
  const Store = class extends PlainStore {
    override keyOf(key: string): string {
      return keyOf(key)
    }
  }
  return { fault, seenBy: [seenBy], Store }
}

/** A store that takes some tokens for others. */
function withTokens(fault: string, seenBy: string, tokenOf: (token: string) => string): Fault {
  const Store = class extends PlainStore {
    override isSame(token: string, other: string): boolean {
      return tokenOf(token) === tokenOf(other)
    }
  }
  return { fault, seenBy: [seenBy], Store }
}

/** Reads, and writes later what it then decided: another call may have come between. */
class SlowStore extends PlainStore {
  override async claim(request: ClaimRequest): Promise<ClaimResult> {
    const found = this.find(request.key)
    const seen = found && { ...found }
    await turns(1)
    this.restore(request.key, seen)
    return super.claim(request)
  }

  restore(key: string, seen: PlainRecord | undefined): void {
    if (seen === undefined) this.records.delete(key)
    else this.records.set(key, seen)
  }
}

/** A change that is written later than it was decided. */
class LateStore extends PlainStore {
  async later(lease: Lease, settle: () => Promise<boolean>): Promise<boolean> {
    const found = this.find(lease.key)
    const seen = found && { ...found }
    await turns(1)
    if (seen !== undefined) this.records.set(lease.key, seen)
    return settle()
  }
}

/** Faults in what keys and tokens are, in what goes in and out, and in being atomic. */
export const FAULTY_KEYS: readonly Fault[] = [
  withKeys('holds one record for all', 'key-apart', () => 'the key'),
  withKeys('cuts keys to 254 characters', 'key-long', (key) => key.slice(0, 254)),
  withKeys('compares keys without case', 'key-case', (key) => key.toLowerCase()),
  withKeys('drops what it escapes', 'key-ascii', (key) => key.replaceAll(/[\\'"]/g, '')),
  withKeys('takes one character for another', 'key-ascii', (key) => key.replaceAll('{', '}')),
  withKeys('takes the part before the last slash', 'key-prefix', (key) => key.replace(/\/[^/]*$/, '')),
  withKeys('pads keys with spaces', 'key-spaces', (key) => key.trimEnd()),
  withKeys('cuts keys to 255 characters', 'key-forbidden', (key) => key.slice(0, 255)),
  withKeys('ends keys at NUL', 'key-forbidden', (key) => key.split('\0')[0] ?? ''),
  withKeys('normalises keys', 'key-forbidden', (key) => key.normalize()),
  withKeys('encodes keys as UTF-8', 'key-forbidden', (key) =>
    new TextDecoder().decode(new TextEncoder().encode(key)),
  ),
  withTokens('cuts tokens to 63 characters', 'token-long', (token) => token.slice(0, 63)),
  withTokens('compares tokens without case', 'token-exact', (token) => token.toLowerCase()),
  withTokens('compares tokens without the spaces around them', 'token-exact', (token) => token.trim()),
  {
    fault: 'holds one key for each token',
    seenBy: ['key-token'],
    Store: class extends PlainStore {
      override grant(request: ClaimRequest, attempt: number): ClaimResult {
        for (const [key, { token }] of this.records) if (token === request.token) this.records.delete(key)
        return super.grant(request, attempt)
      }
    },
  },
  {
    fault: 'refuses quotes in tokens',
    seenBy: ['token-ascii'],
    Store: class extends PlainStore {
      override async claim(request: ClaimRequest): Promise<ClaimResult> {
        if (request.token.includes("'")) throw new Error('syntax error at or near "\'"')
        return super.claim(request)
      }
    },
  },
  {
    fault: 'prefixes the key in its argument',
    seenBy: ['call-frozen'],
    Store: class extends PlainStore {
      override claim(request: ClaimRequest): Promise<ClaimResult> {
        Object.assign(request, { key: `${request.key}` })
        return super.claim(request)
      }
    },
  },
  {
    fault: 'gives its whole record',
    seenBy: ['call-fields'],
    Store: class extends PlainStore {
      override async claim(request: ClaimRequest): Promise<ClaimResult> {
        return { ...this.find(request.key), ...(await super.claim(request)) }
      }
    },
  },
  { fault: 'reads, then writes, in claim', seenBy: ['race-fresh'], Store: SlowStore },
  {
    fault: 'reads, then takes over',
    seenBy: ['race-takeover'],
    Store: class extends SlowStore {
      override restore(key: string, seen: PlainRecord | undefined): void {
        if (seen?.state === 'running' && !this.isLive(seen)) this.records.set(key, seen)
      }
    },
  },
  {
    fault: 'reads, then takes what was released',
    seenBy: ['race-released'],
    Store: class extends SlowStore {
      override restore(key: string, seen: PlainRecord | undefined): void {
        if (seen?.state === 'released') this.records.set(key, seen)
      }
    },
  },
  {
    fault: 'reads, then replaces what is past its retention',
    seenBy: ['race-forgotten'],
    Store: class extends PlainStore {
      override async claim(request: ClaimRequest): Promise<ClaimResult> {
        const isOver = this.records.has(request.key) && this.find(request.key) === undefined
        await turns(1)
        return isOver ? this.grant(request, 1) : super.claim(request)
      }
    },
  },
  {
    fault: 'fails on a claim that meets itself, as an insert does',
    seenBy: ['race-resent'],
    Store: class extends PlainStore {
      readonly #inserting = new Set<string>()

      override async claim(request: ClaimRequest): Promise<ClaimResult> {
        if (this.#inserting.has(request.token))
          throw new Error('duplicate key value violates unique constraint')
        this.#inserting.add(request.token)
        await turns(1)
        this.#inserting.delete(request.token)
        return super.claim(request)
      }
    },
  },
  {
    fault: 'reads, then releases',
    seenBy: ['race-settle', 'race-late-release'],
    Store: class extends LateStore {
      override release(lease: Lease): Promise<boolean> {
        return this.later(lease, () => super.release(lease))
      }
    },
  },
  {
    fault: 'reads, then renews',
    seenBy: ['race-late-renew'],
    Store: class extends LateStore {
      override renew(lease: Lease, leaseMs: number): Promise<boolean> {
        return this.later(lease, () => super.renew(lease, leaseMs))
      }
    },
  },
  {
    fault: 'reads, then completes',
    seenBy: ['race-late-complete'],
    Store: class extends LateStore {
      override complete(lease: Lease, retainMs: number): Promise<boolean> {
        return this.later(lease, () => super.complete(lease, retainMs))
      }
    },
  },
  {
    fault: 'never grants a record again to a token that has lost it',
    seenBy: ['histories'],
    Store: class extends PlainStore {
      readonly #lost = new Set<string>()

      override grant(request: ClaimRequest, attempt: number): ClaimResult {
        const record = this.find(request.key)
        if (this.#lost.has(`${request.key} ${request.token}`)) return { status: 'in_flight', retryAfterMs: 1 }
        if (record !== undefined && record.token !== request.token)
          this.#lost.add(`${request.key} ${record.token}`)
        return super.grant(request, attempt)
      }
    },
  },
]
