/** A list of fixed size: a new item replaces the oldest. */
export class Ring<Item> {
  readonly #size: number
  readonly #items: Item[] = []
  #next = 0

  constructor(size: number) {
    this.#size = size
  }

  /** Adds an item, and returns the one that it replaces if the list is full. */
  add(item: Item): Item | undefined {
    const oldest = this.#items[this.#next]
    this.#items[this.#next] = item
    this.#next = (this.#next + 1) % this.#size
    return oldest
  }

  /** The oldest first. */
  toArray(): Item[] {
    return [...this.#items.slice(this.#next), ...this.#items.slice(0, this.#next)]
  }

  clear(): void {
    this.#items.length = 0
    this.#next = 0
  }
}
