import type { FetchContext } from 'tix-webhooks/fetch'
import { fetchApp } from '../../app/fetch-app.js'
import { type EdgeEnv, edgeBackends } from './edge-backends.js'

export { LaneObject } from './edge-backends.js'

let app: ReturnType<typeof fetchApp> | undefined

export default {
  fetch(request: Request, env: EdgeEnv, ctx: FetchContext): Promise<Response> {
    app ??= fetchApp({ backends: edgeBackends(env) })
    return app(request, ctx)
  },
}
