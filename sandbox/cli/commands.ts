import type { Command } from './arguments/command.js'
import { check } from './commands/alone/check.js'
import { listen } from './commands/alone/listen.js'
import { openapi } from './commands/alone/openapi.js'
import { sandbox } from './commands/alone/sandbox.js'
import { secret } from './commands/alone/secret.js'
import { sign } from './commands/alone/sign.js'
import { trigger } from './commands/alone/trigger.js'
import { verify } from './commands/alone/verify.js'
import { advance } from './commands/control/advance.js'
import { clockCommands } from './commands/control/clock.js'
import { deliveryCommands } from './commands/control/deliveries.js'
import { endpointCommands } from './commands/control/endpoints.js'
import { faultCommands } from './commands/control/faults.js'
import { fill } from './commands/control/fill.js'
import { orders } from './commands/control/orders.js'
import { resend } from './commands/control/resend.js'
import { reset } from './commands/control/reset.js'
import { status } from './commands/control/status.js'

/** All commands, in the order of the help: those that a new user needs come first. */
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
  fill,
  reset,
  openapi,
]
