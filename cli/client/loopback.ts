/** Whether a host is this machine alone. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|::1)$/.test(host)
}
