import { H3, serve } from 'h3-2'
import { fetchApp } from '../../app/fetch-app.js'

const app = fetchApp()

serve(
  new H3().all('/**', (event) => app(event.req)),
  { port: Number(process.env.PORT), silent: true },
)
