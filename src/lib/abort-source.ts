/** Aborts a signal that is made on first read, so that a task whose signal nobody reads pays nothing. */
export class AbortSource {
  // Not private to JavaScript: test runners clone what differs.
  private controller: AbortController | undefined
  private aborted: { readonly reason: unknown } | undefined

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController()
      if (this.aborted !== undefined) this.controller.abort(this.aborted.reason)
    }
    return this.controller.signal
  }

  get isAborted(): boolean {
    return this.aborted !== undefined
  }

  /** The first reason counts. */
  abort(reason: unknown): void {
    this.aborted ??= { reason }
    this.controller?.abort(reason)
  }
}
