/** The hosts that a child process can be. */
export type HostName = 'Express 4' | 'Express 5' | 'Fastify 4' | 'Fastify 5' | 'node:http' | 'Hono' | 'fetch'

export type NodeFault =
  | 'writeHead throws once'
  | 'writeHead throws'
  | 'end throws'
  | 'the headers of the request throw'
  | 'the body throws'
  | 'the type of a body that was read throws'
  | 'the log throws'
  | 'the response is destroyed'
  | 'the answer is begun'
  | 'the reason phrase is invalid'
  | 'framing is preset'
  | 'another body is preset'
  | 'errors are emitted after the answer'

export type WebFault =
  | 'the headers of the request throw'
  | 'the body throws'
  | 'the body is locked'
  | 'the body was cancelled'
  | 'the body was read under it'
  | 'framing is preset'
  | 'another body is preset'

/** The header by which a test tells a host how to misbehave. */
export const FAULT_HEADER = 'x-test-fault'
