import { createHttpApp } from './http-app.js'
import { serve } from './serve.js'

await serve(createHttpApp)
