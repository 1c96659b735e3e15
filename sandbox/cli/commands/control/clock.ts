import { type Command, defineCommand } from '../../arguments/command.js'
import { connect } from '../../client/client.js'
import type { ClockView } from '../../client/control-api.js'
import { SANDBOX_OPTIONS } from '../../client/find-sandbox.js'
import { EXIT } from '../../failure.js'
import { clockLine } from '../../render/clock-lines.js'

const show = defineCommand({
  name: 'clock',
  summary: 'shows the virtual time and what is due next',
  options: SANDBOX_OPTIONS,
  examples: [{ says: 'the time in the sandbox', line: 'tix-webhooks clock' }],
  async run({ sandbox }, _words, context) {
    const client = await connect(sandbox, context)
    const clock = await client.call<ClockView>('GET', '/clock')
    context.out.print(clock, clockLine(clock))
    return EXIT.ok
  },
})

const change = (name: 'freeze' | 'run', summary: string, says: string): Command =>
  defineCommand({
    name: `clock ${name}`,
    summary,
    options: SANDBOX_OPTIONS,
    examples: [{ says, line: `tix-webhooks clock ${name}` }],
    async run({ sandbox }, _words, context) {
      const client = await connect(sandbox, context)
      const clock = await client.call<ClockView>('POST', '/clock', { [name]: true })
      context.out.print(clock, clockLine(clock))
      return EXIT.ok
    },
  })

/** The virtual time of the sandbox. */
export const clockCommands: readonly Command[] = [
  show,
  change(
    'freeze',
    'stops the virtual time: only advance moves it',
    'stop the time, so that nothing happens by itself',
  ),
  change(
    'run',
    'lets the virtual time run again, as fast as real time',
    'let retries happen by themselves again',
  ),
]
