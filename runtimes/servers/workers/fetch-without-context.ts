import { fetchApp } from '../../app/fetch-app.js'
import { type EdgeEnv, edgeBackends } from './edge-backends.js'

export { LaneObject } from './edge-backends.js'

let app: ReturnType<typeof fetchApp> | undefined

export default {
  fetch(request: Request, env: EdgeEnv): Promise<Response> {
    app ??= fetchApp({ backends: edgeBackends(env) })
    return app(request)
  },
}
