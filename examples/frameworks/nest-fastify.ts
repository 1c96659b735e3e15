// NestJS on Fastify. The route is registered with Fastify itself, which understands the route options.
import { Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import type { OrderCreatedEvent } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fastify'

@Injectable()
class Orders {
  async issueTickets(event: OrderCreatedEvent): Promise<void> {
    console.info(`order ${event.data.order.id}: ${event.data.tickets.length} tickets`)
  }
}

@Module({ providers: [Orders] })
class AppModule {}

async function bootstrap(): Promise<void> {
  const app = await NestFactory.create<NestFastifyApplication>(AppModule, new FastifyAdapter())
  const orders = app.get(Orders)

  const hooks = tixWebhooks({
    secret: process.env.TIX_SIGNING_SECRET,
    on: { 'order.created': (event) => orders.issueTickets(event) },
  })
  app.getHttpAdapter().getInstance().post('/hooks', hooks)

  process.once('SIGTERM', async () => {
    await hooks.drain()
    // The connections that clients keep open.
    setTimeout(() => app.getHttpServer().closeAllConnections(), 3_000).unref()
    await app.close()
  })

  await app.listen(process.env.PORT ?? 3000)
}

void bootstrap()
