import { type OtherScheme, otherSchemes } from './other-schemes.js'

/** A signature header, and the faults of its form. */
export interface HeaderForm {
  /** The value, without quotes, a name or blanks that were copied with it. */
  readonly value: string
  /** The fault of the header, or the service whose form it has. */
  readonly findings: readonly string[]
  /** The digits of t; empty if there are none. */
  readonly t: string
  /** All parts that may be signatures. */
  readonly signatures: readonly string[]
  /** Those of schemes that no receiver accepts. */
  readonly others: readonly OtherScheme[]
}

/** Headers of other services: their form, and what these sign. */
const FOREIGN: readonly (readonly [form: RegExp, says: string])[] = [
  [
    /^(?:sha(?:1|256|512))=([\w+/=-]+)$/,
    'The header has the form sha256=…, as from GitHub and others, who sign the body alone and no t. Is it the right header, of a request from this service?',
  ],
  [
    /^v1a?,([\w+/=-]+)(?: v1a?,[\w+/=-]+)*$/,
    'The header has the form v1,… of Standard Webhooks, which signs id.timestamp.body and sends webhook-id and webhook-timestamp too. Is it the right header, of a request from this service?',
  ],
  [/^([0-9a-f]{32,128})$/i, 'The header is a bare signature: t= and v1= are missing. Was it copied whole?'],
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
        ? `The header was given with its name: only the part after "${name}:" was used.`
        : `The header was given with the name ${name}, but the signature is in ${headerName}: is it the right one?`,
    )
  }
  const unquoted = value.replace(/^(["'])(.*)\1$/s, '$2')
  if (unquoted !== value) findings.push('The header was given in quotes: they were ignored.')
  return {
    value: unquoted,
    t: timeOf(unquoted),
    others: otherSchemes(unquoted),
    ...signaturesOf(unquoted, findings),
  }
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
      ? [...findings, 'The items of the header must be separated by commas.']
      : findings,
  }
}
