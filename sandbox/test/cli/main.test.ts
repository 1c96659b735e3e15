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

  test.each(commands.map(({ name }) => name))('of %s is the same however it is asked for', async (name) => {
    const lines = [`help ${name}`, `${name} --help`, `${name} -h`, `--help ${name}`]
    const asked = await Promise.all(lines.map((line) => run(line)))
    expect(new Set(asked.map(({ stdout }) => stdout.split('\n\n')[0])).size).toBe(1)
    expect(asked.map(({ code }) => code)).toEqual([0, 0, 0, 0])
    expect(asked[1]?.stdout).toMatch(new RegExp(`^${name}: [^]+?\n\nUsage: tix-webhooks ${name}`))
  })

  test.each(commands)(
    'of $name names every option and argument, fits a terminal, and has an example',
    async (command) => {
      const { stdout } = await run(`${command.name} --help`)
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
    ['sing', 'There is no command "sing". Did you mean sign?\nSee: tix-webhooks --help\n'],
    ['frobnicate', 'There is no command "frobnicate".\nSee: tix-webhooks --help\n'],
    ['help sing', 'There is no command "sing". Did you mean sign?\nSee: tix-webhooks --help\n'],
    [
      '--secret x sign',
      'Write --secret after the command: only --json, --quiet, --no-color, --help and --version may come before it.\n',
    ],
    ['endpoints --json add x', 'Write the options after the command: endpoints add ….\n'],
    ['sign x', 'sign takes options only, not "x".\nSee: tix-webhooks sign --help\n'],
  ])('of "%s" is refused', async (argv, stderr) => {
    expect(await run(argv)).toMatchObject({ code: 2, stdout: '', stderr })
  })

  test('that is aborted does not end with 0', async () => {
    const stopped = new AbortController()
    stopped.abort()
    expect(await run('status', { signal: stopped.signal })).toMatchObject({ code: 130, stdout: '' })
  })
})
