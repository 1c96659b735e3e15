import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ROOT } from '../../../test/support/root.js'
import { commands } from '../../cli/commands.js'
import { run } from '../support/cli.js'

const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))

describe('the version', () => {
  test.each(['--version', '-v', '-V', '--version sign'])('is printed by %s', async (argv) => {
    expect(await run(argv)).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' })
  })
})

describe('the help', () => {
  test.each(['--help', '-h', 'help', 'help --no-color'])(
    'names every command, the exit codes and how to begin, by %s',
    async (argv) => {
      const { code, stdout, stderr } = await run(argv)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      for (const { name } of commands) expect(stdout).toMatch(new RegExp(`^  ${name} +`, 'm'))
      expect(stdout).toContain('Exit codes: 0 done, 1 a check failed')
      expect(stdout).toContain('tix-webhooks trigger order.created')
      expect(stdout.replaceAll('\n', ' ')).toContain(
        '--secret, else TIX_SIGNING_SECRET in the environment, else in .env.local, else in .env of this folder.',
      )
    },
  )

  test.each(commands)(
    'of $name names every option and argument, fits a terminal, and has an example',
    async (command) => {
      const { name: called } = command
      const { stdout } = await run(`${called} --help`)
      expect(stdout).toMatch(new RegExp(`^${called}: [\\s\\S]+?\n\nUsage: tix-webhooks ${called}`))
      for (const argv of [`help ${called}`, `${called} -h`, `--help ${called}`]) {
        const [title = ''] = stdout.split('\n\n')
        expect(await run(argv)).toMatchObject({ code: 0, stdout: expect.stringContaining(title) })
      }
      const unbroken = stdout.replaceAll(/( \\)?\n\s+/g, ' ')
      const names = Object.entries(command.options).map(([name, { isOn }]) => (isOn ? `no-${name}` : name))
      for (const option of [...names, 'json', 'quiet', 'color', 'help']) {
        expect(stdout).toContain(`--${option}`)
      }
      for (const { name } of command.args ?? []) expect(stdout).toContain(name)
      for (const { says, line } of command.examples) expect(unbroken).toContain(` # ${says} ${line}`)
      // Text in quotes stays whole.
      const prose = stdout.split('\n').filter((line) => !/['"]/.test(line))
      expect(prose.filter((line) => line.length > 80)).toEqual([])
    },
  )

  test('is data with --json', async () => {
    const { records } = await run('help --json')
    expect(records().map(({ name }) => name)).toEqual(commands.map(({ name }) => name))
    const sign = records().find(({ name }) => name === 'sign')
    expect(sign).toMatchObject({
      options: expect.arrayContaining([
        { name: '--body', says: expect.any(String), value: 'TEXT', default: '-', repeatable: false },
      ]),
    })
  })
})

describe('a command line', () => {
  test('without words prints the help on stderr, and ends with 2', async () => {
    const { code, stdout, stderr } = await run([])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('Commands:')
  })

  test.each([
    ['sing', 'There is no command "sing". Did you mean sign?'],
    ['help frobnicate', 'There is no command "frobnicate".'],
    [
      '--secret x sign',
      'Write --secret after the command: only --json, --quiet, --no-color, --help and --version',
    ],
    ['endpoints --json add x', 'Write the options after the command: endpoints add ….'],
    ['sign x', 'sign takes options only, not "x".\nSee: tix-webhooks sign --help\n'],
  ])('of "%s" is refused', async (argv, message) => {
    const { code, stdout, stderr } = await run(argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.startsWith(message)).toBe(true)
  })
})
