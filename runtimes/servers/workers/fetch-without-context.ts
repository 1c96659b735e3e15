import { fetchApp } from '../../app/fetch-app.js'

const app = fetchApp()

export default { fetch: (request: Request) => app(request) }
