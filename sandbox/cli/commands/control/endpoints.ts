import { type Command, type Context, defineCommand } from '../../arguments/command.js'
import { readKinds } from '../../arguments/kinds.js'
import { flag, option } from '../../arguments/options.js'
import { readText, readUrl } from '../../arguments/values.js'
import { type Client, connect } from '../../client/client.js'
import type { EndpointView } from '../../client/control-api.js'
import { SANDBOX_OPTIONS } from '../../client/find-sandbox.js'
import { EXIT, type ExitCode } from '../../failure.js'
import { envLine, SIGNING_OPTIONS, secretOf } from '../../send/signing.js'
import { type Column, table } from '../../terminal/layout.js'
import { type Output, printable } from '../../terminal/output.js'

const ID = { name: 'ENDPOINT', says: 'id of the endpoint, we_…' }
const EXAMPLE_ID = 'we_4eC39HqLyjWDarjtT1zd'

const list = defineCommand({
  name: 'endpoints',
  summary: 'lists the endpoints: where webhooks are sent',
  options: SANDBOX_OPTIONS,
  examples: [{ says: 'all of them', line: 'tix-webhooks endpoints' }],
  async run({ sandbox }, _words, context) {
    const client = await connect(sandbox, context)
    const { data } = await client.call<{ data: readonly EndpointView[] }>('GET', '/endpoints')
    const { out } = context
    if (data.length === 0) out.note('There is no endpoint yet. Add one with: tix-webhooks endpoints add URL')
    const [heads = '', ...lines] = table(
      COLUMNS,
      data.map((endpoint) => cells(endpoint, out)),
      out.columns,
    )
    if (data.length > 0) out.heading(heads)
    data.forEach((endpoint, index) => {
      out.print(withoutSecrets(endpoint), lines[index] ?? '')
    })
    return EXIT.ok
  },
})

const add = defineCommand({
  name: 'endpoints add',
  summary: 'adds an endpoint and prints its secret',
  args: [{ name: 'URL', says: 'URL of the receiver, quoted for the shell' }],
  options: {
    events: option('LIST', readKinds, 'kinds that it takes, such as order.created,event.*', '*'),
    secret: SIGNING_OPTIONS.secret,
    live: flag('for the live account, not the test account'),
    ...SANDBOX_OPTIONS,
  },
  examples: [
    { says: 'for all kinds', line: "tix-webhooks endpoints add 'http://localhost:3000/hooks?source=tix'" },
    {
      says: 'for some kinds, with a secret that the receiver already has',
      line: 'tix-webhooks endpoints add http://localhost:3000/hooks --events order.created --secret whsec_test',
    },
  ],
  async run({ events, secret, live, sandbox }, [url = ''], context) {
    const { io, out } = context
    const body = { url: readUrl(url, 'URL'), events, mode: live ? 'live' : 'test' }
    const given = secretOf(secret, io)
    const client = await connect(sandbox, context)
    const endpoint = await client.call<EndpointView>('POST', '/endpoints', {
      ...body,
      ...(given !== undefined && { secret: given }),
    })
    out.print(endpoint, `${line(endpoint, out)}\n${envLine(endpoint.secrets[0] ?? '')}`)
    return EXIT.ok
  },
})

const remove = defineCommand({
  name: 'endpoints remove',
  summary: 'removes an endpoint; its deliveries stay in the log',
  args: [ID],
  options: SANDBOX_OPTIONS,
  examples: [{ says: 'by its id', line: `tix-webhooks endpoints remove ${EXAMPLE_ID}` }],
  async run({ sandbox }, [id = ''], context) {
    const client = await connect(sandbox, context)
    await client.call('DELETE', pathOf(id))
    context.out.print({ id, removed: true }, `Removed ${id}.`)
    return EXIT.ok
  },
})

const switched = (name: 'enable' | 'disable', summary: string): Command =>
  defineCommand({
    name: `endpoints ${name}`,
    summary,
    args: [ID],
    options: SANDBOX_OPTIONS,
    examples: [{ says: 'by its id', line: `tix-webhooks endpoints ${name} ${EXAMPLE_ID}` }],
    run: ({ sandbox }, [id = ''], context) =>
      change(context, sandbox, (client) => client.call('PATCH', pathOf(id), { enabled: name === 'enable' })),
  })

const setUrl = defineCommand({
  name: 'endpoints set-url',
  summary: 'changes its URL, from the next attempt on',
  args: [ID, { name: 'URL', says: 'its new URL, quoted for the shell' }],
  options: SANDBOX_OPTIONS,
  examples: [
    {
      says: 'after a typing error',
      line: `tix-webhooks endpoints set-url ${EXAMPLE_ID} http://localhost:3000/hooks`,
    },
  ],
  run({ sandbox }, [id = '', text = ''], context) {
    const url = readUrl(text, 'URL')
    return change(context, sandbox, (client) => client.call('PATCH', pathOf(id), { url }))
  },
})

const rotate = defineCommand({
  name: 'endpoints rotate',
  summary: 'adds a new secret; the old one keeps signing too',
  args: [ID],
  options: {
    secret: option('SECRET', readText, 'the new secret (default: a random one)'),
    'drop-old': flag('signs with the new secret alone'),
    ...SANDBOX_OPTIONS,
  },
  examples: [
    { says: 'the first step of a rotation', line: `tix-webhooks endpoints rotate ${EXAMPLE_ID}` },
    { says: 'at once, without the old one', line: `tix-webhooks endpoints rotate ${EXAMPLE_ID} --drop-old` },
  ],
  async run({ secret, 'drop-old': dropsOld, sandbox }, [id = ''], context) {
    const body = { keep_old: !dropsOld, ...(secret !== undefined && { secret }) }
    const code = await change(context, sandbox, (client) => client.call('POST', `${pathOf(id)}/rotate`, body))
    if (secret === undefined) context.out.note(`To see the new secret: tix-webhooks secret ${id}`)
    return code
  },
})

export const endpointCommands: readonly Command[] = [
  list,
  add,
  remove,
  switched('enable', 'delivers to it again; resend --failed then sends what it missed'),
  switched('disable', 'delivers nothing to it until it is enabled again'),
  setUrl,
  rotate,
]

const pathOf = (id: string): string => `/endpoints/${encodeURIComponent(id)}`

async function change(
  context: Context,
  sandbox: string | undefined,
  work: (client: Client) => Promise<EndpointView>,
): Promise<ExitCode> {
  tell(await work(await connect(sandbox, context)), context.out)
  return EXIT.ok
}

function tell(endpoint: EndpointView, out: Output): void {
  out.print(withoutSecrets(endpoint), line(endpoint, out))
}

/** `tix-webhooks secret` shows them. */
function withoutSecrets({ secrets, ...shown }: EndpointView): object {
  return { ...shown, secrets: secrets.length }
}

const COLUMNS: readonly Column[] = [
  { head: 'ENDPOINT' },
  { head: 'URL' },
  { head: 'STATE', drop: 1 },
  { head: 'EVENTS', drop: 2 },
]

function cells(
  { id, url, events, enabled, mode, secrets }: EndpointView,
  { colors }: Output,
): readonly string[] {
  const marks = [
    ...(enabled ? [] : [colors.magenta('disabled')]),
    ...(mode === 'live' ? [colors.magenta('live')] : []),
    ...(secrets.length > 1 ? [`${secrets.length} secrets`] : []),
  ]
  return [id, printable(url), marks.join(', '), events.join(',')]
}

const line = (endpoint: EndpointView, out: Output): string =>
  cells(endpoint, out)
    .filter((cell) => cell !== '')
    .join('  ')
