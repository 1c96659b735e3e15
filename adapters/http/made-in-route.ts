/** Turns of the microtask queue in which a receiver counts as new: `await tixWebhooks(…)`, or an async function that makes it, takes some. */
const NEW_FOR_TURNS = 4

const MADE_IN_ROUTE =
  'tix-webhooks: a receiver is made inside its route, for each request, so that it deduplicates nothing: each has a memory store of its own. Make it once, outside of the route, as in const hooks = tixWebhooks({ … }), or pass a store. If each is kept and used again, nothing is wrong. Logged once.'

/** The number of receivers whose only delivery came as soon as they were made. A test may have one. */
let found = 0
let hasWarned = false

/**
 * Watches for a receiver with the default store that is made for each request.
 *
 * Only promises are used: Workers refuse a timer outside of a request, which is where most receivers are made.
 *
 * @returns a function to call at each delivery; it warns once in a process
 */
export function watchForRoute(): () => void {
  let isNew = true
  void (async () => {
    for (let turn = 0; turn < NEW_FOR_TURNS; turn++) await undefined
    isNew = false
  })()
  let isFound = false
  return () => {
    // A receiver that is used again was kept, such as one for each tenant, made at its first request.
    if (isFound) found -= 1
    isFound = isNew
    isNew = false
    if (!isFound) return
    found += 1
    if (found === 2 && !hasWarned) {
      hasWarned = true
      console.warn(MADE_IN_ROUTE)
    }
  }
}
