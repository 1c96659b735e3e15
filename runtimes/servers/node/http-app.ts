import { createServer, type RequestListener } from 'node:http'
import { tixWebhooks } from 'tix-webhooks/node'
import { type Controlled, control } from '../../app/control.js'
import { endpointsWith } from '../../app/endpoints.js'
import { mapped } from '../../app/fetch-app.js'
import { memoryInbox } from '../../app/lane-inbox.js'
import type { CreateApp } from './serve.js'

/** The app of `node:http`. */
export const createHttpApp: CreateApp = async (options, controlled) => {
  const endpoints = mapped(options, (one) => tixWebhooks(one))
  return { server: createServer(listenerOf(endpoints, controlled)), endpoints }
}

/** The app for hosts that take a listener of `node:http`. */
export function nodeListener(): RequestListener {
  const laneInbox = memoryInbox()
  const endpoints = mapped(endpointsWith(laneInbox), (options) => tixWebhooks(options as never))
  return listenerOf(endpoints, (path) => control(path, { laneInbox, endpoints }))
}

function listenerOf(
  endpoints: Controlled['endpoints'] & Readonly<Record<string, ReturnType<typeof tixWebhooks>>>,
  controlled: Parameters<CreateApp>[1],
): RequestListener {
  return async (request, response) => {
    const path = request.url ?? ''
    const hooks = endpoints[path.replace(/^.*\/hooks\//, '')]
    if (hooks) await hooks(request, response)
    else response.end(await controlled(path))
  }
}
