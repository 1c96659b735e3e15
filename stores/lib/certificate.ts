/** Whether it is the code of an error with which Node refuses the certificate of a server. */
export function isOfCertificate(code: unknown): boolean {
  return /^(CERT_|UNABLE_TO_(GET|VERIFY)_|(DEPTH_ZERO_)?SELF_SIGNED_CERT|ERR_TLS_CERT_)/.test(String(code))
}
