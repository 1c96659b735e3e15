import { Elysia } from 'elysia'
import { fetchApp } from '../../app/fetch-app.js'
import { sqliteParts } from '../sqlite.js'

const app = fetchApp(await sqliteParts())
const { server } = new Elysia({ serve: { idleTimeout: 255 } })
  .all('/*', ({ request }) => app(request), { parse: 'none' })
  .listen(0)
console.log(`listening ${server?.port}`)
