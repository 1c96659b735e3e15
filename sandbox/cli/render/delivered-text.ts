/** `2 delivered (1 parked)`: what was answered 2xx, of which the parked ones are not handled. */
export function deliveredText(delivered: number, parked: number): string {
  return `${delivered} delivered${parked > 0 ? ` (${parked} parked)` : ''}`
}
