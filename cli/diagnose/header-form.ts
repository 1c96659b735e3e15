/** A header as somebody gives it, and what can be said of its form. */
export interface HeaderForm {
  /** Without what is not a part of its value. */
  readonly value: string
  /** What was left out, or whose form it is. */
  readonly findings: readonly string[]
  /** The digits of t, or nothing. */
  readonly t: string
  /** All that may be signatures in it. */
  readonly signatures: readonly string[]
}

/** Headers of other services: their form, and what these sign. */
const FOREIGN: readonly (readonly [form: RegExp, says: string])[] = [
  [
    /^(?:sha(?:1|256|512))=([\w+/=-]+)$/,
    'The header is of the form sha256=…, as GitHub and others write it: they sign the body alone, and no t. Is it the header, and the request, of this service?',
  ],
  [
    /^v1a?,([\w+/=-]+)(?: v1a?,[\w+/=-]+)*$/,
    'The header is of the form v1,…, which is that of Standard Webhooks: they sign id.timestamp.body, and send webhook-id and webhook-timestamp beside it. Is it the header, and the request, of this service?',
  ],
  [/^([0-9a-f]{32,128})$/i, 'The header is a signature alone: t= and v1= are missing. Was it copied whole?'],
]

/** Takes what is given, such as a line that was copied from a log, down to the value of the header. */
export function readHeader(given: string, headerName: string): HeaderForm {
  const findings: string[] = []
  let value = given.trim()
  const named = /^([\w-]+)\s*:\s*(.*)$/s.exec(value)
  if (named !== null) {
    const [, name = '', rest = ''] = named
    value = rest.trim()
    findings.push(
      name.toLowerCase() === headerName
        ? `The header was given with its name: only what comes after "${name}:" was taken.`
        : `The header was given with the name ${name}, and the signature is in ${headerName}: is it the right one?`,
    )
  }
  const unquoted = value.replace(/^(["'])(.*)\1$/s, '$2')
  if (unquoted !== value) findings.push('The header was given in quotes: these were taken away.')
  return { value: unquoted, t: timeOf(unquoted), ...signaturesOf(unquoted, findings) }
}

function timeOf(value: string): string {
  return /(?:^|[\s,;])t=(\d+)(?=$|[\s,;])/.exec(value)?.[1] ?? ''
}

function signaturesOf(
  value: string,
  findings: readonly string[],
): Pick<HeaderForm, 'signatures' | 'findings'> {
  for (const [form, says] of FOREIGN) {
    const [, signature] = form.exec(value) ?? []
    if (signature !== undefined) return { signatures: [signature], findings: [...findings, says] }
  }
  const signatures = [...value.matchAll(/(?:^|[\s,;])v1=([^\s,;]+)/g)].map(([, signature = '']) => signature)
  const isSeparatedOtherwise = signatures.length > 0 && timeOf(value) !== '' && /^t=\d+(;|\s+v)/.test(value)
  return {
    signatures,
    findings: isSeparatedOtherwise
      ? [...findings, 'The items of the header are separated by commas.']
      : findings,
  }
}
