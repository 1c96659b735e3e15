import { fetchApp } from '../../app/fetch-app.js'
import { bunBackends } from '../backends/bun.js'
import { sqliteParts } from '../sqlite.js'
import { serve } from './serve.js'

const { laneInbox, backends } = await sqliteParts()
const app = fetchApp({ laneInbox, backends: { ...backends, ...bunBackends(process.env) } })
serve((request) => app(request))
