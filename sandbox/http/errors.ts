import type { Problem, RefusalCode } from '../domain/refusal.js'

/** The codes of refusals before the ticketing rules. */
type HttpErrorCode =
  | 'api_key_missing'
  | 'api_key_invalid'
  | 'host_refused'
  | 'unknown_url'
  | 'method_not_allowed'
  | 'unsupported_media_type'
  | 'invalid_json'
  | 'body_too_large'
  | 'rate_limited'
  | 'internal'

/** The codes of the sandbox's control API and pages, which the service does not have. */
type ControlErrorCode =
  | 'origin_refused'
  | 'time_goes_forward'
  | 'endpoint_removed'
  | 'body_not_kept'
  | 'sandbox_closed'

/** The code of every error that an answer can have. */
export type ErrorCode = RefusalCode | HttpErrorCode | ControlErrorCode

/** The statuses of errors. */
export type ErrorStatus = 400 | 401 | 403 | 404 | 405 | 409 | 413 | 415 | 429 | 500

/** The kind of error of each status. The specification shows neither. */
const TYPES = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'invalid_request_error',
  405: 'invalid_request_error',
  409: 'state_error',
  413: 'invalid_request_error',
  415: 'invalid_request_error',
  429: 'rate_limit_error',
  500: 'api_error',
} as const satisfies Record<ErrorStatus, string>

export type ErrorType = (typeof TYPES)[ErrorStatus]

const STATUSES: Readonly<Record<ErrorCode, ErrorStatus>> = {
  parameter_missing: 400,
  parameter_invalid: 400,
  parameter_unknown: 400,
  parameter_conflict: 400,
  resource_missing: 404,
  title_contains_html: 400,
  ends_at_before_doors_at: 400,
  on_sale_after_end: 400,
  duplicate_tier_name: 400,
  image_upload_not_shown: 400,
  use_reschedule: 400,
  doors_at_unchanged: 400,
  doors_at_in_past: 400,
  time_goes_forward: 400,
  invalid_json: 400,
  api_key_missing: 401,
  api_key_invalid: 401,
  test_key_required: 403,
  host_refused: 403,
  origin_refused: 403,
  unknown_url: 404,
  method_not_allowed: 405,
  // Not 400, so that a client can tell an invalid request from a valid one that the current state does not allow.
  event_not_on_sale: 409,
  event_already_published: 409,
  event_already_cancelled: 409,
  event_cancelled: 409,
  event_past: 409,
  event_ended: 409,
  event_sold_out: 409,
  tier_sold_out: 409,
  sandbox_full: 409,
  endpoint_removed: 409,
  body_not_kept: 409,
  sandbox_closed: 409,
  body_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  internal: 500,
}

const OF_CONTROL: readonly ErrorCode[] = [
  'origin_refused',
  'time_goes_forward',
  'endpoint_removed',
  'body_not_kept',
  'sandbox_closed',
] satisfies ControlErrorCode[]

/** The codes of the API. */
export const API_ERROR_CODES = (Object.keys(STATUSES) as ErrorCode[]).filter(
  (code) => !OF_CONTROL.includes(code),
)

/** All kinds of errors. */
export const ERROR_TYPES: readonly ErrorType[] = [...new Set(Object.values(TYPES))]

/** The status of an error. An unknown id is 404 in the path, and 400 in a parameter. */
export function statusOf(code: ErrorCode, param?: string): ErrorStatus {
  return code === 'resource_missing' && param !== undefined ? 400 : STATUSES[code]
}

/** The kind of an error with this status. */
export function typeOf(status: number): ErrorType {
  return status > 500 ? TYPES[500] : TYPES[status as ErrorStatus]
}

/** An error outside the rules of ticketing: most are refusals before these rules, `internal` is a fault of the sandbox. */
export class HttpError extends Error {
  readonly code: ErrorCode
  readonly param: string | undefined
  /** Default: the one of the code. */
  readonly status: number | undefined
  /** Further headers of the response, such as `allow`. */
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: ErrorCode,
    message: string,
    {
      param,
      status,
      headers = {},
    }: { param?: string; status?: number; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message)
    this.name = 'HttpError'
    this.code = code
    this.param = param
    this.status = status
    this.headers = headers
  }
}

/** The content of an error response. */
export interface ErrorReport {
  readonly code: ErrorCode
  readonly message: string
  readonly param?: string | undefined
  /** Default: the one of the code. */
  readonly status?: number | undefined
  /** All problems, if fields are invalid. */
  readonly problems?: readonly Problem[] | undefined
}
