import { describe, expect, test } from 'vitest'
import { createOutput, type OutputOptions, oneLine, printable } from '../../../cli/terminal/output.js'

/** The text of both outputs. */
function outputs(
  options: OutputOptions = {},
  { env = {}, isTTY }: { env?: Record<string, string>; isTTY?: boolean } = {},
) {
  const said = { stdout: '', stderr: '' }
  const sink = (name: 'stdout' | 'stderr') => ({
    write: (text: string) => {
      said[name] += text
    },
    ...(isTTY !== undefined && { isTTY }),
    columns: 20,
  })
  return { said, out: createOutput({ stdout: sink('stdout'), stderr: sink('stderr'), env }, options) }
}

const ESCAPE = '\u001b['

describe('colours', () => {
  test.each<[expected: boolean, isTTY: boolean, env: Record<string, string>, OutputOptions?]>([
    [true, true, {}],
    [false, false, {}],
    [false, true, { NO_COLOR: '1' }],
    // An empty one says nothing.
    [true, true, { NO_COLOR: '' }],
    [false, true, { TERM: 'dumb' }],
    [true, false, { FORCE_COLOR: '1' }],
    [false, true, { FORCE_COLOR: '0' }],
    [false, true, { NO_COLOR: '1', FORCE_COLOR: '1' }],
    [true, false, { NO_COLOR: '1' }, { color: true }],
    [false, true, { FORCE_COLOR: '1' }, { color: false }],
  ])('are %s where a terminal is %s, with %j and %j', (expected, isTTY, env, options = {}) => {
    const { out, said } = outputs(options, { env, isTTY })
    out.print({}, out.colors.red('x'))
    out.fail('y')
    expect(said.stdout.includes(ESCAPE)).toBe(expected)
    expect(said.stderr.includes(ESCAPE)).toBe(expected)
  })
})

describe('output', () => {
  test('as JSON does nothing to the terminal either, and is the same when it is read', () => {
    const { out, said } = outputs({ json: true })
    const record = { text: '\u001b[2J\u009b31m\u007f é 🎷' }
    out.print(record, '')
    for (const character of ['\u001b', '\u009b', '\u007f']) expect(said.stdout).not.toContain(character)
    expect(JSON.parse(said.stdout)).toEqual(record)
  })

  test.each([
    [{ json: true }, 'a\nb\nc\n'],
    [{ quiet: true }, 'b\nc\n'],
  ])('of notes, warnings and failures goes to stderr: %j', (options, stderr) => {
    const { out, said } = outputs(options)
    out.note('a')
    out.progress('p')
    out.warn('b')
    out.fail('c')
    expect(said).toEqual({ stdout: '', stderr })
  })

  test('of progress is for terminals alone, and makes room for what comes after it', () => {
    const pipe = outputs()
    pipe.out.progress('working')
    expect(pipe.said.stderr).toBe('')

    const terminal = outputs({ color: false }, { isTTY: true })
    terminal.out.progress('working on something long')
    terminal.out.print({}, 'done')
    expect(terminal.said).toEqual({ stdout: 'done\n', stderr: 'working on somethi…\r\u001b[2K' })
  })
})

describe('a hint', () => {
  const hint = 'None. Start one with: tix-webhooks sandbox\nSee: tix-webhooks --help (tix-webhooks secret).'
  const byNpx = hint.replaceAll('tix-webhooks', 'npx tix-webhooks')

  test.each([
    [{}, 'tix-webhooks', hint],
    [{ npm_command: 'run-script', npm_lifecycle_event: 'dev' }, 'tix-webhooks', hint],
    [{ npm_command: 'exec' }, 'npx tix-webhooks', byNpx],
    [{ npm_lifecycle_event: 'npx' }, 'npx tix-webhooks', byNpx],
  ])('names the command as it was called, with %j', (env, program, expected) => {
    const { said, out } = outputs({}, { env })
    out.note(hint)
    out.warn(hint)
    out.fail(hint)
    expect(said.stderr).toBe(`${expected}\n`.repeat(3))
    expect(out.program).toBe(program)
  })
})

describe('foreign text', () => {
  test.each([
    ['\u001b[2Jgone', '\ufffd[2Jgone'],
    ['a\u0007\u009b31mb\u007f', 'a\ufffd\ufffd31mb\ufffd'],
    ['over\rwritten', 'over\ufffdwritten'],
    ['\u202eturned', '\ufffdturned'],
    ['tab\tand\nline, é 🎷', 'tab\tand\nline, é 🎷'],
  ])('does nothing to the terminal: %j', (text, expected) => {
    expect(printable(text)).toBe(expected)
  })

  test.each([
    [' {\n\t"outcome": 1\r\n}\n', '{ "outcome": 1 }'],
    ['x'.repeat(30), 'x'.repeat(30)],
    ['🎷'.repeat(31), `${'🎷'.repeat(29)}…`],
    [`x${' '.repeat(1000)}y`, 'x…'],
    ['', ''],
  ])('is one short line: %j', (text, expected) => {
    expect(oneLine(text, 30)).toBe(expected)
  })
})
