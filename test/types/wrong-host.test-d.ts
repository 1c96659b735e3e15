import { createServer } from 'node:http'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { tixWebhooks as onExpress } from 'tix-webhooks/express'
import { tixWebhooks as onFastify } from 'tix-webhooks/fastify'
import { tixWebhooks as onFetch } from 'tix-webhooks/fetch'
import { tixWebhooks as onHono } from 'tix-webhooks/hono'
import { tixWebhooks as onNode } from 'tix-webhooks/node'
import { test } from 'vitest'

const options = { secret: 's', on: { 'order.created': () => {} } }

test('a handler of another adapter does not compile', () => {
  // @ts-expect-error route options of Fastify
  express().post('/hooks', onFastify(options))
  // @ts-expect-error a handler of Hono, which could be taken for an error handler
  express().post('/hooks', onHono(options))
  // @ts-expect-error the same under a path
  express().use('/hooks', onHono(options))
  // @ts-expect-error a handler of a Request, which could be taken for an error handler
  express().post('/hooks', onFetch(options))
  // @ts-expect-error the same under a path
  express().use('/hooks', onFetch(options))
  // @ts-expect-error inline, where types are inferred from the place
  express().post('/hooks', onHono({ secret: 's', on: { 'order.created': () => {} } }))
  // @ts-expect-error a handler of Express
  new Hono().post('/hooks', onExpress(options))
  // @ts-expect-error route options of Fastify
  new Hono().post('/hooks', onFastify(options))
  // @ts-expect-error a handler of a Request
  new Hono().post('/hooks', onFetch(options))
  // @ts-expect-error a handler of node:http
  new Hono().post('/hooks', onNode(options))
  // @ts-expect-error a handler of Express
  fastify().post('/hooks', onExpress(options))
  // @ts-expect-error a handler of Hono
  fastify().post('/hooks', onHono(options))
  // @ts-expect-error a handler of a Request
  fastify().post('/hooks', onFetch(options))
  // @ts-expect-error a handler of node:http
  fastify().post('/hooks', onNode(options))
  // @ts-expect-error a handler of Express
  createServer(onExpress(options))
  // @ts-expect-error a handler of Hono
  createServer(onHono(options))
  // @ts-expect-error a handler of a Request
  createServer(onFetch(options))
})
