import { Failure } from '../failure.js'
import type { Output } from '../terminal/output.js'
import type { Client } from './client.js'
import type { EndpointView } from './control-api.js'

/** An endpoint of a sandbox that is there as long as the command runs. */
export interface TemporaryEndpoint {
  readonly id: string
  /** Takes it out of the sandbox. A sandbox that has gone has taken it along. */
  remove(): Promise<void>
}

/** Puts an endpoint into a sandbox. */
export async function addTemporaryEndpoint(
  client: Client,
  endpoint: Pick<EndpointView, 'url' | 'events' | 'mode'> & { readonly secret: string },
  out: Output,
): Promise<TemporaryEndpoint> {
  const { id } = await client.call<EndpointView>('POST', '/endpoints', endpoint)
  return {
    id,
    async remove() {
      try {
        await client.call('DELETE', `/endpoints/${id}`)
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        out.note(`The endpoint ${id} was not removed: ${error.message}`)
      }
    },
  }
}
