import { loadSandbox } from '../../../internal.js'
import { defineCommand } from '../../arguments/command.js'
import { type Client, connectIfRunning } from '../../client/client.js'
import { SANDBOX_OPTIONS } from '../../client/find-sandbox.js'
import { EXIT } from '../../failure.js'

/** `tix-webhooks openapi`: reads the description from a running sandbox, or makes it without one. */
export const openapi = defineCommand({
  name: 'openapi',
  summary: 'prints the OpenAPI document of the service',
  details:
    'With a running sandbox, by its assumptions; without one, by the defaults. What the documentation of the service leaves open is marked x-not-shown.',
  options: SANDBOX_OPTIONS,
  examples: [{ says: 'to generate a client', line: 'tix-webhooks openapi > openapi.json' }],
  async run({ sandbox }, _words, context) {
    const client = await connectIfRunning(sandbox, context)
    const document = JSON.parse(await documentOf(client))
    context.out.print(document, JSON.stringify(document, null, 2), { exact: true })
    return EXIT.ok
  },
})

async function documentOf(client: Client | undefined): Promise<string> {
  if (client !== undefined) return client.text('/openapi.json')
  // Loaded only here: other commands do not need its libraries.
  const { createSandbox } = await loadSandbox()
  const sandbox = createSandbox()
  try {
    return await (await sandbox.fetch('/openapi.json')).text()
  } finally {
    await sandbox.close()
  }
}
