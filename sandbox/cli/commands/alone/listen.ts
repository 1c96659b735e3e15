import { setTimeout as pause } from 'node:timers/promises'
import { defineCommand } from '../../arguments/command.js'
import { readDuration, readSeconds } from '../../arguments/durations.js'
import { textOf } from '../../arguments/input.js'
import { readKinds } from '../../arguments/kinds.js'
import { flag, option } from '../../arguments/options.js'
import { listOf, readPort, readUrl, wholeNumber } from '../../arguments/values.js'
import { bodyCounter } from '../../client/body-counter.js'
import { connectIfRunning } from '../../client/client.js'
import { SANDBOX_OPTIONS } from '../../client/find-sandbox.js'
import { forwarder, leadsTo } from '../../client/forward.js'
import { type Inspected, inspect } from '../../client/inspect-delivery.js'
import { deliveryCounter, finderIn } from '../../client/known-deliveries.js'
import { type Received, type Reply, receive } from '../../client/receiving-server.js'
import { addTemporaryEndpoint } from '../../client/temporary-endpoint.js'
import { isForeignSuccess, twoServers } from '../../client/two-servers.js'
import { EXIT, UsageError } from '../../failure.js'
import { aborted } from '../../io.js'
import { printAnswered, printReady, printReceived } from '../../render/listen-lines.js'
import { newSecret, SIGNING_OPTIONS, secretOf, signatureOptions } from '../../send/signing.js'

const UNAUTHENTICATED = 401
const KEEPS_NOTHING_OPEN = { connection: 'close' }

/** `tix-webhooks listen`: an endpoint of the sandbox as long as it runs. */
export const listen = defineCommand({
  name: 'listen',
  summary: 'receives deliveries: verifies and prints them, and answers or forwards them',
  details:
    'With a running sandbox it is one of its endpoints until Ctrl-C; without one it receives whatever is sent to its port. It answers 401 if the signature is invalid, unless it forwards: then your receiver decides.',
  options: {
    port: option('PORT', readPort, 'the port to listen on; 0 is any free port', '0'),
    'forward-to': option(
      'URL',
      readUrl,
      'forwards the exact bytes and headers to this URL, and returns its answer',
    ),
    respond: option(
      'LIST',
      listOf(wholeNumber(200, 599)),
      'statuses to answer the attempts of each event with, in order; the last one repeats',
      '200',
    ),
    delay: option('TIME', readDuration, 'how long to wait before it answers', '0'),
    body: flag('prints the bodies too'),
    events: option('LIST', readKinds, 'kinds that the endpoint takes, such as order.created,event.*', '*'),
    live: flag('for the live account, not the test account'),
    ...SIGNING_OPTIONS,
    tolerance: option('TIME', readSeconds, 'how old a signature may be', '5m'),
    ...SANDBOX_OPTIONS,
  },
  examples: [
    { says: 'see what is delivered', line: 'tix-webhooks listen --body' },
    {
      says: 'fail twice for each event, then succeed: watch the retries',
      line: 'tix-webhooks listen --respond 500,500,200',
    },
    {
      says: 'in front of a receiver',
      line: "tix-webhooks listen --forward-to 'http://localhost:3000/hooks' --events order.created",
    },
    { says: 'without a sandbox', line: 'tix-webhooks listen --port 4020 --secret whsec_test' },
  ],
  async run(values, _words, context) {
    const { io, out } = context
    const { 'forward-to': target, respond, delay } = values
    if (target !== undefined && (delay > 0 || respond.join() !== '200')) {
      throw new UsageError(
        '--forward-to returns the answer of your receiver: leave out --respond and --delay.',
      )
    }
    if (values.tolerance <= 0) throw new UsageError('--tolerance must be more than 0.')
    if (target !== undefined && values.port !== 0 && (await leadsTo(values.port, target))) {
      throw new UsageError(
        `--forward-to ${target} is this listener itself: give the URL of your receiver, or another --port.`,
      )
    }
    const forward = target === undefined ? undefined : forwarder(target, io.signal)
    const client = await connectIfRunning(values.sandbox, context)
    const secret = secretOf(values.secret, io) ?? (client && newSecret())
    const statusFor = scriptedAnswers(respond)
    let find: ReturnType<typeof finderIn> | undefined
    let isAsked = false
    const countDelivery = deliveryCounter(async (body) => find?.(body))

    const server = await receive(values.port, async (request) => {
      const startedAt = performance.now()
      const inspected = await inspect(request, {
        secrets: secret === undefined ? [] : [secret],
        signature: signatureOptions(values.signature),
        toleranceSeconds: values.tolerance,
      })
      const delivery = await countDelivery(request.body)
      printReceived(request, inspected, { out, withBody: values.body, delivery })
      const reply = await answerTo(request, inspected)
      printAnswered(reply, { out, durationMs: performance.now() - startedAt, target, delivery })
      return reply
    })

    async function answerTo(request: Received, { verdict }: Inspected): Promise<Reply> {
      if (forward !== undefined) {
        const reply = await forward(request)
        if (!isAsked && isForeignSuccess(reply.status, textOf(reply.body ?? new Uint8Array()))) {
          isAsked = true
          // Not awaited: the sender waits for the answer.
          void twoServers(target ?? '', io.signal).then((two) => two !== undefined && out.warn(two))
        }
        return reply
      }
      await pause(delay, undefined, { signal: io.signal }).catch(() => {})
      const status = verdict === 'refused' ? UNAUTHENTICATED : statusFor(request.body)
      return { status, headers: KEEPS_NOTHING_OPEN }
    }

    try {
      const endpoint =
        client &&
        (await addTemporaryEndpoint(
          client,
          {
            url: server.url,
            events: values.events,
            mode: values.live ? 'live' : 'test',
            secret: secret ?? '',
          },
          out,
        ))
      if (client !== undefined && endpoint !== undefined) find = finderIn(client, endpoint.id)
      printReady({ out, url: server.url, endpoint: endpoint?.id, target, isVerifying: secret !== undefined })
      try {
        await aborted(io.signal)
      } finally {
        await endpoint?.remove()
      }
    } finally {
      await server.close()
    }
    return EXIT.ok
  },
})

const OK = 200

/**
 * The scripted answers: the attempts of each event get the statuses in their order, and the last one from then on.
 *
 * @returns a function from a body to its status. The bytes of an event are the same at each attempt
 */
function scriptedAnswers(statuses: readonly number[]): (body: Uint8Array) => number {
  const count = bodyCounter(() => undefined)
  return (body) => statuses[Math.min(count(body).attempt, statuses.length) - 1] ?? OK
}
