// What our own adapters share and users do not need. It is no subpath: everything public is a promise.
export { createRouteReceiver } from './receiver/route-receiver.js'
export { answerWrongHost } from './receiver/wrong-host.js'
