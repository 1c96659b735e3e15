import { Controller, Module, Post, Req, Res } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { Request, Response } from 'express'
import { tixWebhooks } from 'tix-webhooks/express'
import { control } from '../../app/control.js'
import { endpointsWith } from '../../app/endpoints.js'
import { memoryInbox } from '../../app/lane-inbox.js'

/** A controller, whose routes come after Nest's own body parsers; with the argument `rawBody`, they keep the bytes. */
const [rawBody] = process.argv.slice(2)

const laneInbox = memoryInbox()
const hooks = tixWebhooks(endpointsWith(laneInbox).main as never)

@Controller('hooks')
class Hooks {
  @Post()
  handle(@Req() request: Request, @Res() response: Response): unknown {
    return hooks(request, response)
  }
}

@Module({ controllers: [Hooks] })
class AppModule {}

const app = await NestFactory.create(AppModule, {
  logger: ['error', 'warn'],
  rawBody: rawBody === 'rawBody',
})
app.use('/control', async (request: Request, response: Response) => {
  response.send(await control(request.originalUrl, { laneInbox, endpoints: {} }))
})
await app.listen(Number(process.env.PORT))
