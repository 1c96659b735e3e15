import { defineCommand } from '../../arguments/command.js'
import { connect } from '../../client/client.js'
import type { SandboxStatus } from '../../client/control-api.js'
import { SANDBOX_OPTIONS } from '../../client/find-sandbox.js'
import { EXIT } from '../../failure.js'
import { clockLine } from '../../render/clock-lines.js'
import { deliveredText } from '../../render/delivered-text.js'

/** `tix-webhooks status`: the status of the running sandbox. */
export const status = defineCommand({
  name: 'status',
  summary: 'shows the state of the running sandbox',
  options: SANDBOX_OPTIONS,
  examples: [{ says: 'of the sandbox of this folder', line: 'tix-webhooks status' }],
  async run({ sandbox }, _words, context) {
    const client = await connect(sandbox, context)
    context.out.print(client.status, lines(client.status))
    return EXIT.ok
  },
})

function lines(status: SandboxStatus): string {
  const { version, url, clock, counts, parked, endpoints, assumptions } = status
  const { passed, wrong_answer: wrong, ...deliveries } = status.deliveries
  const counted = (numbers: Readonly<Record<string, number>>): string =>
    Object.entries(numbers)
      .map(([name, count]) => (name === 'delivered' ? deliveredText(count, parked) : `${count} ${name}`))
      .join(', ')
  const assumed = Object.entries(assumptions).map(([name, choice]) => `${name}=${choice}`)
  return [
    `sandbox      ${version} at ${url}`,
    `clock        ${clockLine(clock)}`,
    `test         ${counted(counts.test)}`,
    `live         ${counted(counts.live)}`,
    `endpoints    ${endpoints}`,
    `deliveries   ${counted(deliveries)}`,
    `scenarios    ${passed} passed, ${wrong} wrong answer${wrong === 1 ? '' : 's'}`,
    `assumptions  ${assumed.join(', ')}`,
  ].join('\n')
}
