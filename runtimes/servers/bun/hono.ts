import { honoApp } from '../../app/hono-app.js'
import { sqliteParts } from '../sqlite.js'
import { serve } from './serve.js'

const app = honoApp(await sqliteParts())
// Without the second argument, which is Bun's server: Hono would take it for the environment.
serve((request) => app.fetch(request))
