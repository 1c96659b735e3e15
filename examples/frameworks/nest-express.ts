// NestJS on Express. `app.use` before `app.listen` comes before Nest's own body parsers, so the bytes are still there.
import { Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { OrderCreatedEvent } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/express'

@Injectable()
class Orders {
  async issueTickets(event: OrderCreatedEvent): Promise<void> {
    console.info(`order ${event.data.order.id}: ${event.data.tickets.length} tickets`)
  }
}

@Module({ providers: [Orders] })
class AppModule {}

async function bootstrap(): Promise<void> {
  const app = await NestFactory.create(AppModule)
  const orders = app.get(Orders)

  const hooks = tixWebhooks({
    secret: process.env.TIX_SIGNING_SECRET,
    on: { 'order.created': (event) => orders.issueTickets(event) },
  })
  app.use('/hooks', hooks)

  process.once('SIGTERM', async () => {
    await hooks.drain()
    // The connections that clients keep open.
    setTimeout(() => app.getHttpServer().closeAllConnections(), 3_000).unref()
    await app.close()
  })

  await app.listen(process.env.PORT ?? 3000)
}

void bootstrap()
