import type { RequestRecord } from '../../../service/request-record.js'
import type { RequestView } from '../views.js'

/** A request to the API, as the control API and the command show it. */
export function requestJson({ keyEnd, errorCode, errorMessage, ...same }: RequestRecord): RequestView {
  return {
    ...same,
    key_end: keyEnd,
    ...(errorCode !== undefined && { error_code: errorCode }),
    ...(errorMessage !== undefined && { error_message: errorMessage }),
  }
}
