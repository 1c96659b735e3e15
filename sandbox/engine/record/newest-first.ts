interface Node<Value> {
  readonly value: Value
  older: Node<Value> | undefined
  newer: Node<Value> | undefined
}

/** A map that is walked from its newest entry: a `Map` can only be walked from its oldest. Each change takes constant time. */
export class NewestFirst<Value> {
  readonly #nodes = new Map<string, Node<Value>>()
  #newest: Node<Value> | undefined

  get(key: string): Value | undefined {
    return this.#nodes.get(key)?.value
  }

  /** Adds an entry. The key must be new. */
  add(key: string, value: Value): void {
    const node: Node<Value> = { value, older: this.#newest, newer: undefined }
    if (this.#newest !== undefined) this.#newest.newer = node
    this.#newest = node
    this.#nodes.set(key, node)
  }

  delete(key: string): void {
    const node = this.#nodes.get(key)
    if (node === undefined) return
    if (node.older !== undefined) node.older.newer = node.newer
    if (node.newer === undefined) this.#newest = node.older
    else node.newer.older = node.older
    this.#nodes.delete(key)
  }

  clear(): void {
    this.#nodes.clear()
    this.#newest = undefined
  }

  *[Symbol.iterator](): Generator<Value> {
    for (let node = this.#newest; node !== undefined; node = node.older) yield node.value
  }
}
