import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerTo, createReceiver } from 'tix-webhooks'
import { control } from '../../app/control.js'
import { endpointsWith } from '../../app/endpoints.js'
import { mapped } from '../../app/fetch-app.js'
import { memoryInbox } from '../../app/lane-inbox.js'
import { type HttpEvent, toEvent } from './lambda-events.js'

const laneInbox = memoryInbox()
const receivers = mapped(endpointsWith(laneInbox), (options) => createReceiver<HttpEvent>(options as never))
type Receiver = (typeof receivers)['main']

/** The function of examples/frameworks/lambda.ts, for the receiver of an endpoint. */
async function handler(request: HttpEvent, { receive, headerName }: Receiver) {
  const { body, isBase64Encoded, requestContext } = request
  const outcome = await receive({
    header: headerOf(request, headerName),
    body: Buffer.from(body ?? '', isBase64Encoded ? 'base64' : 'utf8'),
    request,
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

/** The gateway: it makes an event of each request, of the version that is the argument. */
const version = process.argv[2] === '1' ? 1 : 2
const server = createServer(async (request, response) => {
  const path = request.url ?? ''
  const receiver = (receivers as Readonly<Record<string, Receiver>>)[path.replace('/hooks/', '')]
  if (receiver === undefined) {
    response.end(await control(path, { laneInbox, endpoints: receivers }))
    return
  }
  const { statusCode, headers, body } = await handler(await toEvent(request, version), receiver)
  response.writeHead(statusCode, headers).end(body)
})
server.listen(0, '127.0.0.1', () => console.log(`listening ${(server.address() as AddressInfo).port}`))
