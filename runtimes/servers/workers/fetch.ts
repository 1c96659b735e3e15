import type { FetchContext } from 'tix-webhooks/fetch'
import { fetchApp } from '../../app/fetch-app.js'

const app = fetchApp()

export default {
  fetch: (request: Request, _env: unknown, ctx: FetchContext) => app(request, ctx),
}
