/** @module-tag slow */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { emptyFolder, receiver, run, sandbox } from '../../support/cli.js'

const CAPTURED = '{"type":"order.created","created_at":"2026-01-01T00:00:00Z","data":{}}'

/** A folder with the files that the rows name. */
function folderWithFiles(): string {
  const folder = emptyFolder()
  for (const [name, content] of Object.entries({
    notes: 'x',
    'captured.json': CAPTURED,
    'latin.json': new Uint8Array([0x22, 0xff, 0x22]),
  })) {
    writeFileSync(join(folder, name), content)
  }
  return folder
}

const SIGNED = '--secret whsec_refused'
const TRIGGER = `trigger order.created --to URL ${SIGNED}`
const CHECK = `check URL ${SIGNED}`

/** The rules that a command adds; those for a single value are in arguments.test.ts. */
const OF_OPTIONS: [argv: string, message: RegExp][] = [
  [`${CHECK} --only stael`, /^--only .*Did you mean stale\?/],
  [`${CHECK} --tolerance 0`, /tolerance/],
  ['listen --forward-to URL --respond 500', /^--forward-to returns the answer of your receiver/],
  ['listen --respond 200,99', /^--respond must be a whole number from 200 to 599, not "99"/],
  ['listen --tolerance 0', /^--tolerance must be more than 0/],
  ['sandbox --assume singature=dot', /^There is no assumption "singature"/],
  ['sandbox --jitter 0.7', /^--jitter must be a number from 0 to 0\.5, such as 0\.1, not "0\.7"/],
  ['sandbox --timeout 2h', /^--timeout 2h is too long: at most 1h, or 0 for no limit/],
  ['sandbox --rate-limit 9999999/s', /^--rate-limit "9999999\/s" is not a rate: .* at most 1000000 requests/],
  ['sandbox --rate-limit 25', /^--rate-limit "25" is not a rate: write it like 25\/s/],
  ['sandbox --chaos duplicate=2', /^--chaos duplicate must be a number from 0 to 1/],
  ['sandbox --chaos stael=0.1', /^--chaos must be one of valid, .*Did you mean stale\?/],
  ['sandbox --to http://8.8.8.8/hooks', /--allow-public/],
  ['sandbox --to URL --events order.craeted', /^--events must be one of .*Did you mean order\.created\?/],
  ['sandbox --host 0.0.0.0', /^--host 0\.0\.0\.0 lets other machines in: .*--allow-host NAME/],
  ['sign --body x', /^There is no signing secret: give --secret, set TIX_SIGNING_SECRET/],
  ['sign --body x --secret whsec_refused\n', /^secret begins or ends with white space/],
  [`sign ${SIGNED} --body @gone`, /^--body: there is no such file: gone\nSee: /],
  [`sign ${SIGNED} --body @.`, /^--body: this is a folder, not a file: \.\n/],
  [`sign ${SIGNED} --body @`, /^--body names no file/],
  [
    `sign ${SIGNED} --body body.json`,
    /^--body body\.json is the name of a file: write --body @body\.json for/,
  ],
  [`sign ${SIGNED} --body notes`, /^--body notes is the name of a file: write --body @notes for its/],
  [`sign ${SIGNED} --body x --t 1.5`, /^--t must be a whole number/],
  ['trigger order.created --to URL', /^There is no signing secret/],
  [
    `trigger order.craeted --to URL ${SIGNED}`,
    /Did you mean order\.created\? For an undocumented kind, give --data\.$/m,
  ],
  [`trigger order.refunded --to URL ${SIGNED}`, /^data is missing: there are samples of order\.created/],
  [`${TRIGGER} --set data.order.totl_cents=0`, /^The payload has no data\.order\.totl_cents/],
  [`${TRIGGER} --data {`, /^--data is not valid JSON: .+\. Quote it for the shell/],
  [`${TRIGGER} --data -`, /^--data is not valid JSON: .+\. Correct it there\.$/m],
  [`${TRIGGER} --scenario stael`, /Did you mean stale\?/],
  [`${TRIGGER} --scenario thin`, /^There is no thin of this order\.created/],
  [`${TRIGGER} --chain`, /^--chain needs a sandbox, and --to sends without one/],
  [`${TRIGGER} --no-wait`, /^--no-wait needs a sandbox/],
  [`${TRIGGER} --live`, /^--live needs a sandbox/],
  [`${TRIGGER} --sandbox http://127.0.0.1:1`, /^--sandbox needs a sandbox/],
  [`trigger  --to URL ${SIGNED}`, /^KIND is empty/],
  ['trigger', /^Which kind\? Give KIND/],
  ['trigger event.published --event @captured.json', /leave event\.published out/],
  ['trigger --event @captured.json --set data.a=1', /leave out --set, --data and --chain/],
  ['trigger --event {}', /has no type/],
  ['trigger --event @notes', /not valid JSON/],
  ['trigger --event @latin.json', /not UTF-8/],
  [`verify ${SIGNED} --body x`, /^--header is missing/],
  ['verify --header t=1,v1=00 --body x', /^There is no signing secret/],
]

test.each(OF_OPTIONS)('%s: refused before anything is sent', async (argv, message) => {
  const { url, arrivals } = await receiver()
  const words = argv.split(' ').map((word) => (word === 'URL' ? url : word))
  const port = words[0] === 'sandbox' ? ['--port', '0'] : []
  const { code, stdout, stderr } = await run([...words, ...port], {
    cwd: folderWithFiles(),
  })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(message)
  expect(stderr).not.toContain('whsec_refused')
  expect(arrivals).toEqual([])
})

const IN_A_SANDBOX: [argv: string, message: RegExp, stdin?: string][] = [
  ['advance', /^How far\? Give a time such as 72h/],
  ['advance 1h --to next', /^How far/],
  ['advance 72', /^TIME 72 has no unit: write 72s, 72m, 72h or 72d/],
  ['advance --to 2031-05-01T11:00:00Z', /forward|past/],
  ['deliveries --status sent', /^--status must be one of pending, retrying/],
  ['deliveries show dlv_x', /^There is no delivery "dlv_x"/],
  ['endpoints add http://8.8.8.8/hooks', /--allow-public/],
  ['endpoints rotate', /^ENDPOINT is missing/],
  ['endpoints adn x', /^There is no command endpoints adn, only endpoints add, .*Did you mean add\?/],
  ['faults remove flt_x --all', /Which fault\?/],
  ['resend', /^Which deliveries\? Give their ids, --failed or --since 1h/],
  ['resend dlv_x --failed', /^Give ids of deliveries, or --failed and --since, not both/],
  ['resend ../reset', /^There is no delivery "\.\.\/reset"/],
  ['fill gone.json', /^FILE: there is no such file: gone\.json/],
  [
    'fill -',
    /^Standard input is not valid JSON: .+\. For an example: tix-webhooks fill --help$/m,
    '{"venues":',
  ],
  ['fill -', /^Standard input must be a JSON object, such as \{"venues":\[.+\]\}\.$/m, '[]'],
  ['secret --new we_x', /^--new takes no endpoint. To give one a new secret: .+ endpoints rotate we_x/],
]

test.each(IN_A_SANDBOX)('%s: refused, though a sandbox runs', async (argv, message, stdin = '') => {
  const { run: runHere } = await sandbox('--start-at 2031-05-01T12:00:00.000Z --freeze')
  const { code, stdout, stderr } = await runHere(argv, { stdin })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(message)
})
