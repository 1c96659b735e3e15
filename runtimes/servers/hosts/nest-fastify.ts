import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import { tixWebhooks } from 'tix-webhooks/fastify'
import { control } from '../../app/control.js'
import { endpointsWith } from '../../app/endpoints.js'
import { mapped } from '../../app/fetch-app.js'
import { memoryInbox } from '../../app/lane-inbox.js'

@Module({})
class AppModule {}

const laneInbox = memoryInbox()
const endpoints = mapped(endpointsWith(laneInbox), (options) => tixWebhooks(options as never))
const app = await NestFactory.create<NestFastifyApplication>(AppModule, new FastifyAdapter(), {
  logger: ['error', 'warn'],
})
const instance = app.getHttpAdapter().getInstance()
for (const [name, hooks] of Object.entries(endpoints)) instance.post(`/hooks/${name}`, hooks)
instance.get('/control/*', (request) => control(request.url, { laneInbox, endpoints }))
await app.listen(Number(process.env.PORT))
