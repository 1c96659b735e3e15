import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { Request, Response } from 'express'
import { tixWebhooks } from 'tix-webhooks/express'
import { control } from '../../app/control.js'
import { endpointsWith } from '../../app/endpoints.js'
import { mapped } from '../../app/fetch-app.js'
import { memoryInbox } from '../../app/lane-inbox.js'

@Module({})
class AppModule {}

const laneInbox = memoryInbox()
const endpoints = mapped(endpointsWith(laneInbox), (options) => tixWebhooks(options as never))
const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] })
// Before `listen`, as in examples/frameworks/nest-express.ts.
for (const [name, hooks] of Object.entries(endpoints)) app.use(`/hooks/${name}`, hooks)
app.use('/control', async (request: Request, response: Response) => {
  response.send(await control(request.originalUrl, { laneInbox, endpoints }))
})
await app.listen(Number(process.env.PORT))
