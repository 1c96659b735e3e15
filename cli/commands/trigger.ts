import { defineCommand } from '../command.js'
import { readDuration } from '../durations.js'
import { UsageError } from '../failure.js'
import { SANDBOX_OPTIONS } from '../find-sandbox.js'
import { checkKind } from '../kinds.js'
import { flag, many, one } from '../options.js'
import { readData } from '../read-data.js'
import { SCENARIO_NAMES } from '../scenario-names.js'
import { neededSecret, SIGNING_OPTIONS } from '../signing.js'
import { triggerInSandbox } from '../trigger-in-sandbox.js'
import { triggerOnce } from '../trigger-once.js'
import { oneOf, pairOf, readJsonOrText, readText, readUrl, wholeNumber } from '../values.js'

const MAX_REPEAT = 1000

/** `tix-webhooks trigger`: in a sandbox, or with `--to` without one. */
export const trigger = defineCommand({
  name: 'trigger',
  summary: 'makes what a kind of webhook is about, and sends that webhook',
  details:
    'With a running sandbox, the API knows what was made, its endpoints get the webhook, and failures are retried. With --to it is a sample that is signed and sent once to that URL, and no sandbox is needed; exit code 1 says that the answer was not as it should be. A scenario is judged by its answers, with a sandbox or without one: a forgery that is accepted is exit code 1, and one that is refused is 0.',
  args: [
    {
      name: 'KIND',
      says: 'order.created, event.published, event.cancelled, event.rescheduled, or another one with --data',
    },
  ],
  options: {
    set: many('PATH=VALUE', pairOf(readJsonOrText), 'another value in the payload: JSON, else a text'),
    data: one('JSON', (text) => text, 'the whole data: JSON, @file, or - for the standard input'),
    scenario: one('NAME', oneOf(...SCENARIO_NAMES), `spoilt on purpose: ${SCENARIO_NAMES.join(', ')}`),
    repeat: one('N', wholeNumber(1, MAX_REPEAT), 'so many, each of its own', '1'),
    chain: flag('also the webhooks of what had to be made first'),
    wait: flag(
      'waits for the first answers; exit code 1 when one of them is not 2xx, or no endpoint takes it',
    ),
    live: flag('in the live account, not the test account'),
    to: one('URL', readUrl, 'sends once to this URL, without a sandbox; quote it for the shell'),
    timeout: one('TIME', readDuration, 'with --to: how long to wait for the answer; 0 is without end', '15s'),
    ...SIGNING_OPTIONS,
    ...SANDBOX_OPTIONS,
  },
  examples: [
    { says: 'a sale', line: 'tix-webhooks trigger order.created' },
    {
      says: 'a free one, and its answer',
      line: 'tix-webhooks trigger order.created --set data.order.total_cents=0 --wait',
    },
    { says: 'the same delivery twice', line: 'tix-webhooks trigger order.created --scenario duplicate' },
    {
      says: 'once, without a sandbox',
      line: "tix-webhooks trigger order.created --to 'http://localhost:3000/hooks' --secret whsec_test",
    },
    {
      says: 'a kind that is not documented',
      line: `tix-webhooks trigger order.refunded --data '{"order":{"id":"ord_1"}}'`,
    },
  ],
  async run(values, [kind = ''], context) {
    const { io } = context
    const { to, scenario, repeat, chain, wait, live } = values
    const inSandboxOnly = { chain, wait, live, sandbox: values.sandbox !== undefined }
    const stray = Object.entries(inSandboxOnly).find(([, isGiven]) => isGiven)
    if (to !== undefined && stray !== undefined) {
      throw new UsageError(
        `--${stray[0]} is for a sandbox, and --to sends without one: leave one of them out.`,
      )
    }
    const data = values.data === undefined ? undefined : await readData(values.data, io)
    if (data === undefined) checkKind(kind)
    const request = {
      kind: readText(kind, 'KIND'),
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
