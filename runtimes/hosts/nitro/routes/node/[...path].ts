import { fromNodeMiddleware } from 'h3'
import { nodeListener } from '#lane/node-app'

export default fromNodeMiddleware(nodeListener())
