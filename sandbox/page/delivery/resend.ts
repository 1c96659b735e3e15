import { post } from '../data/api.js'
import { go, type Route } from '../data/route.js'
import { type AttemptView, isAccepted } from '../data/views.js'
import { notify } from '../parts/notice.js'

/** Sends a delivery once more, and goes to the new attempt. */
export async function resend(id: string, route: Route, to?: string): Promise<void> {
  const attempt = await post<AttemptView>(
    `/deliveries/${encodeURIComponent(id)}/resend`,
    to === undefined ? {} : { to },
  )
  const result = attempt.response?.status ?? attempt.error?.code
  notify(`Attempt ${attempt.number} was ${isAccepted(attempt) ? 'accepted' : 'not accepted'}: ${result}.`)
  go({ ...route, view: 'Deliveries', delivery: id, attempt: attempt.id, follow: false })
}
