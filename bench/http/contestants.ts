/** The frameworks of the servers. */
export const FRAMEWORKS = ['express', 'fastify', 'hono'] as const
export type Framework = (typeof FRAMEWORKS)[number]

/** The way its route receives webhooks. */
export type Way = 'ours' | 'byHand' | 'octokit' | 'polar'

/** The sender of the webhooks for a way. */
export type Sender = 'tix' | 'github' | 'polar'

export const SENDER_OF: Readonly<Record<Way, Sender>> = {
  ours: 'tix',
  byHand: 'tix',
  octokit: 'github',
  polar: 'polar',
}

/** The ways available for each framework. */
export const WAYS: Readonly<Record<Framework, readonly Way[]>> = {
  express: ['ours', 'byHand', 'octokit', 'polar'],
  fastify: ['ours', 'byHand'],
  hono: ['ours', 'byHand'],
}

export const NAMES: Readonly<Record<Way, string>> = {
  ours: 'tix-webhooks',
  byHand: 'by hand',
  octokit: '@octokit/webhooks',
  polar: '@polar-sh',
}

/** Starts a server that calls the handler for each accepted delivery, and resolves to its port. */
export type Open = (handler: () => void) => Promise<number>

export const SECRET = 'whsec_of_the_benches'
export const PATH = '/hooks'
export const HOST = '127.0.0.1'
