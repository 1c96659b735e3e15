import { defineCommand } from '../../arguments/command.js'
import { readDuration } from '../../arguments/durations.js'
import { readData, readExactText } from '../../arguments/input.js'
import { checkKind } from '../../arguments/kinds.js'
import { flag, flagThatIsOn, option, repeatable } from '../../arguments/options.js'
import { SCENARIO_NAMES } from '../../arguments/scenario-names.js'
import {
  oneOf,
  pairOf,
  readJsonOrText,
  readObject,
  readText,
  readUrl,
  wholeNumber,
} from '../../arguments/values.js'
import { SANDBOX_OPTIONS } from '../../client/find-sandbox.js'
import { UsageError } from '../../failure.js'
import { neededSecret, SIGNING_OPTIONS } from '../../send/signing.js'
import { triggerInSandbox } from '../../send/trigger-in-sandbox.js'
import { triggerOnce } from '../../send/trigger-once.js'

const MAX_REPEAT = 1000

/** `tix-webhooks trigger`: in a sandbox, or with `--to` without one. */
export const trigger = defineCommand({
  name: 'trigger',
  summary: 'sends a webhook of this kind, with an event or order created for it',
  details:
    'With a running sandbox, the event and its order exist in the API too, each endpoint gets the webhook, and failures are retried. With --to it signs a sample and sends it once to that URL; no sandbox is needed. It waits for the first answer of each endpoint and prints it: exit code 1 if one of them is not a 2xx or is parked, or if no endpoint takes the kind. A scenario is judged by what a receiver should answer: exit code 1 if a forgery is accepted, 0 if it is refused.',
  args: [
    {
      name: 'KIND',
      says: 'order.created, event.published, event.cancelled, event.rescheduled, or any other with --data; none with --event',
      optional: true,
    },
  ],
  options: {
    set: repeatable('PATH=VALUE', pairOf(readJsonOrText), 'changes a value of the payload: JSON, else text'),
    data: option('JSON', (text) => text, 'the whole data: JSON, @file, or - for standard input'),
    event: option(
      'JSON',
      (text) => text,
      'a captured body of a webhook, signed and sent as it is: @file, - for standard input, or JSON',
    ),
    scenario: option(
      'NAME',
      oneOf(...SCENARIO_NAMES),
      `sends a deliberately odd or forged delivery: ${SCENARIO_NAMES.join(', ')}`,
    ),
    repeat: option('N', wholeNumber(1, MAX_REPEAT), 'how many to send, each with an order of its own', '1'),
    chain: flag('also sends the webhooks of everything that is created for it'),
    wait: flagThatIsOn('does not wait for the answers: exit code 0, whatever they are'),
    live: flag('for the live account, not the test account'),
    to: option('URL', readUrl, 'sends a sample once to this URL, without a sandbox; quote it for the shell'),
    timeout: option('TIME', readDuration, 'with --to: how long to wait for the answer; 0 is no limit', '15s'),
    ...SIGNING_OPTIONS,
    ...SANDBOX_OPTIONS,
  },
  examples: [
    { says: 'a sale', line: 'tix-webhooks trigger order.created' },
    {
      says: 'a free one',
      line: 'tix-webhooks trigger order.created --set data.order.total_cents=0',
    },
    { says: 'the same delivery again', line: 'tix-webhooks trigger order.created --scenario duplicate' },
    {
      says: 'once, without a sandbox',
      line: "tix-webhooks trigger order.created --to 'http://localhost:3000/hooks' --secret whsec_test",
    },
    { says: 'one that was captured, to the byte', line: 'tix-webhooks trigger --event @captured.json' },
    {
      says: 'an undocumented kind',
      line: `tix-webhooks trigger order.refunded --data '{"order":{"id":"ord_1"}}'`,
    },
  ],
  async run(values, [kind], context) {
    const { io } = context
    const { to, scenario, repeat, chain, wait, live } = values
    const inSandboxOnly = { chain, 'no-wait': !wait, live, sandbox: values.sandbox !== undefined }
    const stray = Object.entries(inSandboxOnly).find(([, isGiven]) => isGiven)
    if (to !== undefined && stray !== undefined) {
      throw new UsageError(
        `--${stray[0]} needs a sandbox, and --to sends without one: leave out one of them.`,
      )
    }
    const data = values.data === undefined ? undefined : await readData(values.data, io)
    const event = values.event === undefined ? undefined : await readExactText(values.event, '--event', io)
    if (event !== undefined && (data !== undefined || values.set.length > 0 || chain)) {
      throw new UsageError('--event is sent as it is: leave out --set, --data and --chain.')
    }
    if (kind === undefined && event === undefined) {
      throw new UsageError('Which kind? Give KIND, such as order.created, or --event @file.')
    }
    if (data === undefined && kind !== undefined && event === undefined) checkKind(kind)
    const request = {
      kind: event === undefined ? readText(kind ?? '', 'KIND') : kindOf(event, kind),
      event,
      data,
      set: Object.fromEntries(values.set),
      scenario,
      repeat,
    }
    if (to === undefined) {
      return triggerInSandbox(
        { ...request, chain, wait, mode: live ? 'live' : 'test' },
        values.sandbox,
        context,
      )
    }
    const secret = neededSecret(values.secret, io)
    const destination = { url: to, secret, timeoutMs: values.timeout }
    return triggerOnce({ ...request, signature: values.signature }, destination, context)
  },
})

/** @throws UsageError if the captured event is invalid, or not of the given kind */
function kindOf(event: string, kind: string | undefined): string {
  const { type } = readObject(event, '--event', {
    example: '{"type":"order.created",…}',
    cure: 'Correct it there.',
  })
  if (typeof type !== 'string' || type === '') {
    throw new UsageError(
      '--event has no type: it must be the body of a webhook, {"type","created_at","data"}.',
    )
  }
  if (kind !== undefined && kind !== type) {
    throw new UsageError(`--event is of the kind ${JSON.stringify(type)}: leave ${kind} out.`)
  }
  return type
}
