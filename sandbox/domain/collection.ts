import { Refusal } from './refusal.js'
import type { PageQuery } from './requests/list-queries.js'
import { missingResource } from './requests/missing.js'

/** A part of a list. */
export interface Page<Resource> {
  /** The newest first. */
  readonly data: readonly Resource[]
  /** Whether there is more in the direction of travel. */
  readonly hasMore: boolean
}

interface Placed {
  readonly id: string
  /** Its place in the order of creation. */
  readonly index: number
}

/** Records in the order of their creation, found by their id. */
export class Collection<Item extends Placed> {
  readonly #what: 'event' | 'venue'
  readonly #items: Item[] = []
  readonly #byId = new Map<string, Item>()

  /** @param what they are, for messages */
  constructor(what: 'event' | 'venue') {
    this.#what = what
  }

  get size(): number {
    return this.#items.length
  }

  get(id: string): Item | undefined {
    return this.#byId.get(id)
  }

  /** @param item its `index` must be the size of the collection before the call */
  add(item: Item): void {
    this.#items.push(item)
    this.#byId.set(item.id, item)
  }

  /** The oldest first. */
  [Symbol.iterator](): IterableIterator<Item> {
    return this.#items.values()
  }

  /**
   * A page of the items that match, from the cursor on. The item at the cursor need not match.
   *
   * @throws Refusal `resource_missing` for a cursor that is of nothing
   */
  page(query: PageQuery, matches: (item: Item) => boolean = () => true): Page<Item> {
    const { limit, starting_after, ending_before } = query
    const isBackwards = ending_before !== undefined
    const step = isBackwards ? 1 : -1
    const found: Item[] = []
    let index = isBackwards
      ? this.#indexOf(ending_before, 'ending_before')
      : starting_after === undefined
        ? this.#items.length
        : this.#indexOf(starting_after, 'starting_after')
    // One more than the page has: whether there is more.
    while (found.length <= limit) {
      index += step
      const item = this.#items[index]
      if (item === undefined) break
      if (matches(item)) found.push(item)
    }
    const data = found.slice(0, limit)
    return { data: isBackwards ? data.reverse() : data, hasMore: found.length > limit }
  }

  #indexOf(cursor: string, param: string): number {
    const item = this.#byId.get(cursor)
    if (item === undefined) throw new Refusal(missingResource(this.#what, cursor, param))
    return item.index
  }
}
