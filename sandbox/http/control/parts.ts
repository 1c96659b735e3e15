import type { Service } from '../../service/service.js'
import type { Guard } from '../protection/guard.js'
import type { RequestLog } from '../request-log.js'

/** The parts that the control API needs beside the service. */
export interface ControlParts {
  readonly service: Service
  readonly guard: Guard
  readonly log: RequestLog
  /** Resets the sandbox. */
  readonly reset: () => void
  readonly url: () => string
  readonly version: string
  /** The folder that it was started in. */
  readonly folder: string
  /** @throws AddressRefused if nothing is sent to the address */
  readonly checkUrl: (url: string) => void
  /** Real time, in milliseconds since the epoch. */
  readonly realNow: () => number
}
