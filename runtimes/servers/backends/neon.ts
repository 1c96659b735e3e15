import type { neonConfig } from '@neondatabase/serverless'

/** Sends Neon's client to a proxy that carries the protocol of Postgres in WebSockets, as Neon's own does, but without TLS. */
export function toProxy(config: typeof neonConfig, proxy: string): void {
  config.wsProxy = (host, port) => `${proxy}/v1?address=${host}:${port}`
  config.useSecureWebSocket = false
  config.pipelineTLS = false
  config.pipelineConnect = false
}
