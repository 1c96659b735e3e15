import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sampleEvent } from 'tix-webhooks/testing'
import { expect, test } from 'vitest'
import { emptyFolder, receiver, run, sandbox } from '../../../support/cli.js'

const CAPTURED = `${JSON.stringify(sampleEvent('order.created'), null, 2)}\r\n`

function captured(folder: string, text: string | Uint8Array = CAPTURED): string {
  writeFileSync(join(folder, 'captured.json'), text)
  return folder
}

test('a captured event is sent in a sandbox to the byte, and signed', async () => {
  const { url, arrivals } = await receiver()
  const { run: runHere, folder } = await sandbox(`--to ${url}`)
  captured(folder)
  const { code, stdout } = await runHere('trigger --event @captured.json')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^--> order\.created \[dlv_/)
  expect(arrivals.map(({ body }) => String(body))).toEqual([CAPTURED])
})

test.each([
  [[], CAPTURED, /^Which kind\? Give KIND/],
  [['event.published', '--event', '@captured.json'], CAPTURED, /leave event\.published out/],
  [['--event', '@captured.json', '--set', 'data.a=1'], CAPTURED, /leave out --set, --data and --chain/],
  [['--event', '@captured.json'], '{}', /has no type/],
  [['--event', '@captured.json'], 'x', /not valid JSON/],
  [['--event', '@captured.json'], new Uint8Array([0x22, 0xff, 0x22]), /not UTF-8/],
])('%j is refused', async (argv, text, message) => {
  const { code, stderr } = await run(['trigger', ...argv], { cwd: captured(emptyFolder(), text) })
  expect(code).toBe(2)
  expect(stderr).toMatch(message)
})
