import type { Command } from './arguments/command.js'
import { advance } from './commands/advance.js'
import { check } from './commands/check.js'
import { clockCommands } from './commands/clock.js'
import { deliveryCommands } from './commands/deliveries.js'
import { endpointCommands } from './commands/endpoints.js'
import { faultCommands } from './commands/faults.js'
import { listen } from './commands/listen.js'
import { openapi } from './commands/openapi.js'
import { orders } from './commands/orders.js'
import { resend } from './commands/resend.js'
import { reset } from './commands/reset.js'
import { sandbox } from './commands/sandbox.js'
import { secret } from './commands/secret.js'
import { seed } from './commands/seed.js'
import { sign } from './commands/sign.js'
import { status } from './commands/status.js'
import { trigger } from './commands/trigger.js'
import { verify } from './commands/verify.js'

/** All commands, in the order of the help: first what one begins with. */
export const commands: readonly Command[] = [
  sandbox,
  trigger,
  listen,
  check,
  resend,
  advance,
  ...clockCommands,
  ...deliveryCommands,
  ...endpointCommands,
  orders,
  ...faultCommands,
  secret,
  sign,
  verify,
  status,
  seed,
  reset,
  openapi,
]
