import type { FetchContext } from 'tix-webhooks/fetch'
import { fetchApp } from '../../app/fetch-app.js'
import { type ClientEnv, clientBackends, endClients } from './client-backends.js'
import { type EdgeEnv, edgeBackends } from './edge-backends.js'

export { LaneObject } from './edge-backends.js'

let app: ReturnType<typeof fetchApp> | undefined

export default {
  async fetch(request: Request, env: EdgeEnv & ClientEnv, ctx: FetchContext): Promise<Response> {
    app ??= fetchApp({ backends: { ...edgeBackends(env), ...clientBackends(env) } })
    const late: Promise<unknown>[] = []
    const response = await app(request, { waitUntil: (work) => late.push(work) })
    ctx.waitUntil?.(Promise.allSettled(late).then(() => endClients(request)))
    return response
  },
}
