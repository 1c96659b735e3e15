import { createRequire } from 'node:module'
import * as index from 'tix-webhooks'
import * as express from 'tix-webhooks/express'
import * as fastify from 'tix-webhooks/fastify'
import * as fetch from 'tix-webhooks/fetch'
import * as hono from 'tix-webhooks/hono'
import * as node from 'tix-webhooks/node'
import * as testing from 'tix-webhooks/testing'
import receiveEverywhere from './receive.cjs'

const other = createRequire(import.meta.url)('tix-webhooks')
console.info(
  JSON.stringify(await receiveEverywhere({ index, express, fastify, fetch, hono, node, testing }, other)),
)
