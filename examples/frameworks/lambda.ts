// AWS Lambda: behind an HTTP API or a function URL (events of version 2), a REST API (version 1) or a load balancer.
import { answerTo, createReceiver } from 'tix-webhooks'

interface HttpEvent {
  /** Names are lower-case in version 2, and as sent by the client in version 1. */
  headers?: Record<string, string | undefined> | null
  multiValueHeaders?: Record<string, string[] | undefined> | null
  body?: string | null
  isBase64Encoded?: boolean
  /** Version 1 and load balancers. */
  httpMethod?: string
  path?: string
  /** Version 2. */
  requestContext?: { http?: { method: string; path: string } }
}

const { receive, headerName } = createReceiver<HttpEvent>({
  secret: process.env.TIX_SIGNING_SECRET,
  on: {
    'order.created': async (event) => {
      console.info(`order ${event.data.order.id}: ${event.data.tickets.length} tickets`)
    },
  },
})

export async function handler(request: HttpEvent) {
  const { body, isBase64Encoded, requestContext } = request
  const outcome = await receive({
    header: headerOf(request, headerName),
    body: Buffer.from(body ?? '', isBase64Encoded ? 'base64' : 'utf8'),
    request,
    // Methods other than POST get 405.
    method: requestContext?.http?.method ?? request.httpMethod,
    path: () => requestContext?.http?.path ?? request.path,
    contentEncoding: headerOf(request, 'content-encoding')?.toString(),
  })
  const answer = answerTo(outcome)
  return { statusCode: answer.status, headers: answer.headers, body: answer.body }
}

function headerOf({ headers, multiValueHeaders }: HttpEvent, name: string): string | string[] | undefined {
  const given = Object.entries({ ...headers, ...multiValueHeaders })
  return given.find(([one]) => one.toLowerCase() === name)?.[1]
}
