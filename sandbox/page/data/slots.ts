/** How many tabs may stream. Browsers open six connections to a host; the rest are for the requests of the tabs. */
const SLOTS = 3

/**
 * Takes one of the streams that all tabs of this browser share.
 *
 * @returns a function that releases it; undefined if all are taken
 */
export async function takeSlot(): Promise<(() => void) | undefined> {
  // Browsers have locks only on pages from this machine, or over HTTPS.
  if (navigator.locks === undefined) return () => {}
  for (let slot = 0; slot < SLOTS; slot++) {
    const release = await new Promise<(() => void) | undefined>((resolve) => {
      void navigator.locks.request(`tix-webhooks-stream-${slot}`, { ifAvailable: true }, (lock) => {
        if (lock === null) return resolve(undefined)
        return new Promise<void>((giveBack) => resolve(giveBack))
      })
    })
    if (release !== undefined) return release
  }
  return undefined
}
