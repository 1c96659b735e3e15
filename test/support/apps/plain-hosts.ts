// One process for one framework, over HTTP/1 or HTTP/2, with nothing but the receiver in its app.
import { createServer, type Server } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { tixWebhooks as forExpress } from 'tix-webhooks/express'
import { tixWebhooks as forFastify } from 'tix-webhooks/fastify'
import { tixWebhooks as forFetch } from 'tix-webhooks/fetch'
import { tixWebhooks as forHono } from 'tix-webhooks/hono'
import { tixWebhooks as forNode } from 'tix-webhooks/node'
import { SECRET } from '../deliveries.js'

const options = { secret: SECRET, on: { 'order.created': () => {} }, onError() {} }

const ON_HTTP2 = { createServer: createHttp2Server as never }

async function fastifyHost(): Promise<Server> {
  const app = fastify()
  app.post('/hooks', forFastify(options))
  await app.ready()
  return app.server
}

/** Express has no HTTP/2: its requests and responses are those of HTTP/1 by their prototype. */
const HOSTS = {
  Express: () => createServer(express().post('/hooks', forExpress(options))),
  Fastify: fastifyHost,
  'node:http': () => createServer(forNode(options)),
  Hono: () => createAdaptorServer(new Hono().post('/hooks', forHono(options))),
  fetch: () => createAdaptorServer({ fetch: (request) => forFetch(options)(request) }),
  'node:http2': () => createHttp2Server(forNode(options) as never),
  'Hono on HTTP/2': () =>
    createAdaptorServer({ ...ON_HTTP2, fetch: new Hono().post('/hooks', forHono(options)).fetch }),
  'fetch on HTTP/2': () =>
    createAdaptorServer({ ...ON_HTTP2, fetch: (request) => forFetch(options)(request) }),
} as const

/** The hosts that a child process can be. */
export type PlainHostName = keyof typeof HOSTS

async function main(): Promise<void> {
  const server = (await HOSTS[process.argv[2] as PlainHostName]()) as Server
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
  // The test is gone.
  process.once('disconnect', () => process.exit(1))
}

void main()
