import { honoApp } from '../../app/hono-app.js'
import { sqliteParts } from '../sqlite.js'
import { serve } from './serve.js'

const app = honoApp(await sqliteParts())
serve((request) => app.fetch(request))
