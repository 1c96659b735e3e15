import { fetchApp } from '../../app/fetch-app.js'
import { bunBackends } from '../backends/bun.js'
import { sqliteParts } from '../sqlite.js'
import { serve } from './serve.js'

const { ledger, backends } = await sqliteParts()
const app = fetchApp({ ledger, backends: { ...backends, ...bunBackends(process.env) } })
serve((request) => app(request))
