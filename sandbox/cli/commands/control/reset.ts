import { defineCommand } from '../../arguments/command.js'
import { connect } from '../../client/client.js'
import { SANDBOX_OPTIONS } from '../../client/find-sandbox.js'
import { EXIT } from '../../failure.js'

/** `tix-webhooks reset`: through the control API. */
export const reset = defineCommand({
  name: 'reset',
  summary: 'deletes all data and deliveries of the running sandbox',
  details:
    'Its time starts over, and requests under way are aborted, so an advance that waits for an answer ends. Endpoints and their secrets are kept.',
  options: SANDBOX_OPTIONS,
  examples: [{ says: 'between two runs of a test suite', line: 'tix-webhooks reset' }],
  async run({ sandbox }, _words, context) {
    const client = await connect(sandbox, context)
    await client.call('POST', '/reset')
    context.out.print(
      { reset: true, url: client.url },
      `The sandbox at ${client.url} is empty; its endpoints are kept.`,
    )
    return EXIT.ok
  },
})
