/** What a server is made with. */
export const FRAMEWORKS = ['express', 'fastify', 'hono'] as const
export type Framework = (typeof FRAMEWORKS)[number]

/** How its route receives webhooks. `bare` reads the body and verifies nothing. */
export type Way = 'ours' | 'byHand' | 'octokit' | 'polar' | 'bare'

/** Who sends the webhooks that a way receives. */
export type Sender = 'tix' | 'github' | 'polar'

export const SENDER_OF: Readonly<Record<Way, Sender>> = {
  ours: 'tix',
  byHand: 'tix',
  bare: 'tix',
  octokit: 'github',
  polar: 'polar',
}

/** For each framework those that there are. */
export const WAYS: Readonly<Record<Framework, readonly Way[]>> = {
  express: ['ours', 'byHand', 'octokit', 'polar'],
  fastify: ['ours', 'byHand', 'octokit'],
  hono: ['ours', 'byHand', 'octokit', 'polar'],
}

export const NAMES: Readonly<Record<Way, string>> = {
  ours: 'tix-webhooks',
  byHand: 'by hand',
  octokit: '@octokit/webhooks',
  polar: '@polar-sh',
  bare: 'bare',
}

/** Starts a server that calls the handler for each delivery it accepts, and gives its port. */
export type Open = (handler: () => void) => Promise<number>

export const SECRET = 'whsec_of_the_benches'
export const PATH = '/hooks'
export const HOST = '127.0.0.1'
