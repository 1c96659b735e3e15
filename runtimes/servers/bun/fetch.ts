import { fetchApp } from '../../app/fetch-app.js'
import { sqliteParts } from '../sqlite.js'
import { serve } from './serve.js'

const app = fetchApp(await sqliteParts())
serve((request) => app(request))
