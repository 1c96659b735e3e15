import { signPayload } from 'tix-webhooks'
import { defineCommand } from '../../arguments/command.js'
import { readBytes } from '../../arguments/input.js'
import { option } from '../../arguments/options.js'
import { wholeNumber } from '../../arguments/values.js'
import { asUsage, EXIT } from '../../failure.js'
import { neededSecret, SIGNING_OPTIONS, signatureOptions } from '../../send/signing.js'

/** The last second that a header may have. */
const MAX_SECONDS = 99_999_999_999

/** `tix-webhooks sign`: it needs no sandbox. */
export const sign = defineCommand({
  name: 'sign',
  summary: 'signs a body and prints the signature header, for curl',
  details:
    'It signs the exact bytes: send the same ones with curl --data-binary, which keeps line breaks (--data does not).',
  options: {
    body: option('TEXT', (text) => text, 'the body: text, @file, or - for standard input', '-'),
    ...SIGNING_OPTIONS,
    t: option(
      'SECONDS',
      wholeNumber(0, MAX_SECONDS),
      'Unix time of the signature, in seconds (default: now)',
    ),
  },
  examples: [
    {
      says: 'the value of x-service-signature',
      line: 'tix-webhooks sign --secret whsec_test --body @order.json',
    },
    {
      says: 'the same signature each time',
      line: `tix-webhooks sign --secret whsec_test --t 1700000000 --body '{"type":"order.created"}'`,
    },
  ],
  async run({ body, secret, signature, t }, _words, { io, out }) {
    const key = neededSecret(secret, io)
    const bytes = await readBytes(body, '--body', io)
    const header = await asUsage(() =>
      signPayload(bytes, {
        secret: key,
        signature: signatureOptions(signature),
        ...(t !== undefined && { timestamp: t }),
      }),
    )
    out.print({ header, name: 'x-service-signature' }, header, { exact: true })
    return EXIT.ok
  },
})
