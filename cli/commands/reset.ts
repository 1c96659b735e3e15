import { connect } from '../client.js'
import { defineCommand } from '../command.js'
import { EXIT } from '../failure.js'
import { SANDBOX_OPTIONS } from '../find-sandbox.js'

/** `tix-webhooks reset`: through the control API. */
export const reset = defineCommand({
  name: 'reset',
  summary: 'makes the running sandbox forget all data and deliveries',
  details:
    'Its time begins again, and what is under way is broken off: an advance that waits for an answer ends. Its endpoints, and their secrets, stay.',
  options: SANDBOX_OPTIONS,
  examples: [{ says: 'between two runs of a test suite', line: 'tix-webhooks reset' }],
  async run({ sandbox }, _words, context) {
    const client = await connect(sandbox, context)
    await client.call('POST', '/reset')
    context.out.tell({ reset: true, url: client.url }, `The sandbox at ${client.url} is as new.`)
    return EXIT.ok
  },
})
