/** Whether an answer of this status ends the retries. The service retries after any but a 2xx. */
export function isSuccessStatus(status: number): boolean {
  return status >= 200 && status < 300
}
