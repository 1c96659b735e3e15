import { type Diagnosis, diagnose } from '../../../internal.js'
import { defineCommand } from '../../arguments/command.js'
import { readSeconds } from '../../arguments/durations.js'
import { readBytes } from '../../arguments/input.js'
import { option } from '../../arguments/options.js'
import { readInstant, readText } from '../../arguments/values.js'
import { asUsage, EXIT, UsageError } from '../../failure.js'
import { neededSecret, SIGNING_OPTIONS, signatureOptions } from '../../send/signing.js'
import { type Output, printable } from '../../terminal/output.js'

/** The signature of `{"type":"order.created"}` with the secret `whsec_test`. */
const EXAMPLE = 't=1700000000,v1=fe321b5f1fdbe13da84d44f2ab83c05590d08405cb1286b2792f1e4dd5323006'

/** `tix-webhooks verify`: it needs no sandbox. */
export const verify = defineCommand({
  name: 'verify',
  summary: 'verifies a delivery that you saved, and explains why it is refused',
  details:
    'It also tries likely mistakes: other signed strings, changed bodies, other forms of the secret. Exit code 1 if the signature is invalid.',
  options: {
    header: option('HEADER', readText, 'the value of x-service-signature, t=…,v1=…'),
    body: option('TEXT', (text) => text, 'the exact body: text, @file, or - for standard input', '-'),
    ...SIGNING_OPTIONS,
    tolerance: option('TIME', readSeconds, 'how old the signature may be; 0 is any age', '5m'),
    'received-at': option(
      'WHEN',
      readInstant,
      'when it was received, such as 2026-12-01T19:00:00Z (default: now)',
    ),
  },
  examples: [
    {
      says: 'a saved body, however old',
      line: `tix-webhooks verify --secret whsec_test --header '${EXAMPLE}' --body @order.json --tolerance 0`,
    },
    {
      says: 'as at the time it was received',
      line: `tix-webhooks verify --secret whsec_test --header '${EXAMPLE}' --body '{"type":"order.created"}' --received-at 2023-11-14T22:13:30Z`,
    },
  ],
  async run({ header, body, secret, signature, tolerance, 'received-at': receivedAt }, _words, { io, out }) {
    if (header === undefined)
      throw new UsageError('--header is missing: the value of x-service-signature, t=…,v1=….')
    const key = neededSecret(secret, io)
    const bytes = await readBytes(body, '--body', io)
    const diagnosis = await asUsage(() =>
      diagnose({
        secret: key,
        header,
        body: bytes,
        toleranceSeconds: tolerance,
        signature: signatureOptions(signature),
        ...(receivedAt !== undefined && { now: () => Date.parse(receivedAt) }),
      }),
    )
    out.print(recordOf(diagnosis), lines(diagnosis, out))
    return diagnosis.valid ? EXIT.ok : EXIT.failed
  },
})

function recordOf(diagnosis: Diagnosis): object {
  if (!diagnosis.valid) return diagnosis
  const { signedAt, ageSeconds, ...rest } = diagnosis
  return { ...rest, signed_at: signedAt.toISOString(), age_seconds: ageSeconds }
}

function lines(diagnosis: Diagnosis, { colors }: Output): string {
  const findings = diagnosis.findings.map((finding) => `- ${colors.bold(printable(finding))}`)
  const verdict = diagnosis.valid
    ? [
        `${colors.green('valid')}: signed at ${diagnosis.signedAt.toISOString()}, ${diagnosis.ageSeconds} s ago`,
      ]
    : [`${colors.red('invalid')}: ${diagnosis.code}`, printable(diagnosis.reason)]
  return [...verdict, ...findings].join('\n')
}
