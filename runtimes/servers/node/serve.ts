import { type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AdapterHarness } from 'tix-webhooks/testing'
import { type Controlled, control } from '../../app/control.js'
import { endpointsWith } from '../../app/endpoints.js'
import { memoryInbox } from '../../app/lane-inbox.js'
import { poolerBackends } from '../backends/node.js'
import { sqliteParts } from '../sqlite.js'

type Options = Parameters<AdapterHarness['mount']>[0]

/** Makes an app of a framework: an endpoint `/hooks/<name>` for each of the options, and what `controlled` answers below `/control/`. */
export type CreateApp = (
  options: Readonly<Record<string, Options>>,
  controlled: (path: string) => Promise<string | undefined>,
) => Promise<{ server: Server; endpoints: Controlled['endpoints'] }>

/** Serves the app of the lane, by Node's API of HTTP. */
export async function serve(createApp: CreateApp): Promise<void> {
  const { laneInbox = memoryInbox(), backends: ofSqlite } = await sqliteParts()
  const backends = { ...ofSqlite, ...poolerBackends(process.env) }
  const adapter = onSocket(createApp)
  const options = endpointsWith(laneInbox, backends) as unknown as Record<string, Options>
  const { server, endpoints } = await createApp(options, (path) =>
    control(path, { laneInbox, backends, adapter, endpoints }),
  )
  console.log(`listening ${await listen(server)}`)
}

/** The cases of adapters, over a real socket. */
function onSocket(createApp: CreateApp): AdapterHarness {
  return {
    async mount(options) {
      const { server } = await createApp({ mounted: options }, async () => undefined)
      const port = await listen(server)
      return {
        send: ({ method, headers, body }) => post(port, { method, headers }, body),
        close: async () => {
          server.close()
          server.closeAllConnections()
        },
      }
    },
  }
}

/** @returns the port */
function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}

function post(port: number, init: object, body: string | Uint8Array) {
  return new Promise<{ status: number; headers: IncomingMessage['headers']; text: string }>(
    (resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, path: '/hooks/mounted', agent: false, ...init })
      sent.on('error', reject)
      sent.on('response', async (response) => {
        let text = ''
        for await (const part of response.setEncoding('utf8')) text += part
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
      })
      sent.end(body)
    },
  )
}
