import { honoApp } from '../../app/hono-app.js'

export default honoApp()
