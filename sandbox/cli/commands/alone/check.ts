import { defineCommand } from '../../arguments/command.js'
import { readDuration, readSeconds } from '../../arguments/durations.js'
import { readData } from '../../arguments/input.js'
import { flag, option } from '../../arguments/options.js'
import { listOf, oneOf, readText, readUrl } from '../../arguments/values.js'
import { PROBE_NAMES } from '../../check/plan.js'
import { probe } from '../../check/probe.js'
import { countsOf, RESULTS_HEAD, resultLines, summaryOf } from '../../check/result-lines.js'
import { wrongLines } from '../../check/wrong-lines.js'
import { awaitListener } from '../../client/await-listener.js'
import { twoServers } from '../../client/two-servers.js'
import { asUsage, EXIT, UsageError } from '../../failure.js'
import type { Io } from '../../io.js'
import { sendAnywhere, whileWanted } from '../../send/send-once.js'
import { neededSecret, SIGNING_OPTIONS, signatureOptions } from '../../send/signing.js'

/** `tix-webhooks check`: it needs no sandbox. */
export const check = defineCommand({
  name: 'check',
  summary: 'probes a receiver in any language, and reports its faults',
  details:
    'It sends genuine deliveries, forgeries and duplicates, and judges the answers. The genuine ones are correctly signed made-up orders that your receiver will handle: do not point it at one that sends real mail. If your handler looks the order up, give one that exists with --data. Answers do not show everything: notes list what to check yourself. It needs no sandbox. Each fault is printed with its consequence and with the deliveries that were answered wrongly, with invisible bytes shown as <0a>. Exit code 1 if a probe fails; a warning (not an attack) and a status that merely differs (harmless) do not count.',
  args: [{ name: 'URL', says: 'URL of the receiver, quoted for the shell' }],
  options: {
    ...SIGNING_OPTIONS,
    only: option('LIST', listOf(oneOf(...PROBE_NAMES)), `only these probes: ${PROBE_NAMES.join(', ')}`),
    kind: option(
      'KIND',
      readText,
      'a kind that the receiver handles (default: order.created and event.published)',
    ),
    data: option(
      'JSON',
      (text) => text,
      'data of an order that exists, for a handler that looks it up: JSON, @file, or - for standard input',
    ),
    tolerance: option('TIME', readSeconds, 'how old a signature the receiver accepts', '5m'),
    timeout: option('TIME', readSeconds, 'how long each answer may take; 0 is no limit', '15s'),
    verbose: flag('prints all deliveries that were answered wrongly, and whole'),
    wait: option('TIME', readDuration, 'how long to wait until something listens there, such as 30s', '0'),
  },
  examples: [
    { says: 'all probes', line: "tix-webhooks check 'http://localhost:3000/hooks' --secret whsec_test" },
    {
      says: 'some probes, as JSON',
      line: 'tix-webhooks check http://localhost:3000/hooks --secret whsec_test --only stale,duplicate --json',
    },
    {
      says: 'with an order that your database has',
      line: 'tix-webhooks check http://localhost:3000/hooks --secret whsec_test --data @data.json',
    },
    {
      says: 'in CI, where the receiver is still starting',
      line: 'tix-webhooks check http://localhost:3000/hooks --secret whsec_test --wait 30s',
    },
  ],
  async run(
    { secret, signature, only, kind, tolerance, data, timeout, wait, verbose },
    [text = ''],
    { io, out },
  ) {
    const url = readUrl(text, 'URL')
    const key = neededSecret(secret, io)
    const given = data === undefined ? undefined : await readGiven(data, io)
    if (wait > 0) {
      out.progress(`Waiting for ${url}…`)
      await awaitListener(url, wait, io.signal)
    }
    const two = await twoServers(url, io.signal)
    if (two !== undefined) throw new UsageError(`${two} Nothing was probed.`)
    out.progress(`Probing ${url}…`)
    let isFirst = true
    const results = await asUsage(() =>
      probe(url, {
        secret: key,
        signature: signatureOptions(signature),
        toleranceSeconds: tolerance,
        timeoutSeconds: timeout,
        send: whileWanted(sendAnywhere, io.signal),
        ...(only !== undefined && { only }),
        ...(kind !== undefined && { kind }),
        ...(given !== undefined && { data: given }),
        onProgress(result) {
          if (isFirst) out.heading(RESULTS_HEAD)
          isFirst = false
          out.print(result, resultLines(result, out))
          // Bytes are not broken between words. With --json they are in the result.
          for (const line of out.json ? [] : wrongLines(result.wrong ?? [], verbose, out.colors)) {
            out.print({}, line, { exact: true })
          }
          out.progress(`Probing ${url}…`)
        },
      }),
    )
    out.progress()
    const counts = countsOf(results)
    const { red, green } = out.colors
    out.print(counts, (counts.failed === 0 ? green : red)(summaryOf(counts)))
    return counts.failed === 0 ? EXIT.ok : EXIT.failed
  },
})

/** The data of an event, and not an event with its data: then all would be sent one level too deep. */
async function readGiven(source: string, io: Io): Promise<Record<string, unknown>> {
  const data = await readData(source, io)
  if (typeof data.type !== 'string' || typeof data.data !== 'object') return data
  throw new UsageError('--data is a whole event: give only its data, and its type as --kind.')
}
