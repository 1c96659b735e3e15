/** `2 delivered (1 parked)`: the parked ones were answered 2xx, but are not handled. */
export function deliveredText(delivered: number, parked: number): string {
  return `${delivered} delivered${parked > 0 ? ` (${parked} parked)` : ''}`
}
