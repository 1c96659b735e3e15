import { createHmac } from 'node:crypto'

/** A verifier of five lines that shares nothing with ours: the rules of the service's document and of common practice. */
export function verifiesPlainly(body: string, header: string, secrets: readonly string[]): boolean {
  const [t = '', ...signatures] = header.split(',')
  const signed = `${t.slice('t='.length)}.${body}`
  const expected = secrets.map((secret) => `v1=${createHmac('sha256', secret).update(signed).digest('hex')}`)
  return /^t=\d{10}$/.test(t) && expected.join() === signatures.join()
}
