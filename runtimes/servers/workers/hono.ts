import type { ExecutionContext } from 'hono'
import { honoApp } from '../../app/hono-app.js'
import { type EdgeEnv, edgeBackends } from './edge-backends.js'

export { LaneObject } from './edge-backends.js'

let app: ReturnType<typeof honoApp> | undefined

export default {
  fetch(request: Request, env: EdgeEnv, ctx: ExecutionContext): Response | Promise<Response> {
    app ??= honoApp({ backends: edgeBackends(env) })
    return app.fetch(request, env, ctx)
  },
}
