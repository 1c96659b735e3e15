import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { folded, table, widthOf } from '../../../cli/terminal/layout.js'
import { createOutput, type OutputOptions, oneLine, printable } from '../../../cli/terminal/output.js'
import { visible, visibleWithin } from '../../../cli/terminal/visible-bytes.js'

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

const green = (text: string): string => `\u001b[32m${text}\u001b[39m`

describe('a table', () => {
  const columns = [
    { head: 'ID' },
    { head: 'KIND', drop: 1 },
    { head: 'URL', drop: 3 },
    { head: 'WHY', drop: 2 },
  ]
  const rows = [
    ['a', 'short', 'http://localhost', ''],
    ['longer', green('kind'), '', ''],
  ]

  test('has heads, aligned whatever the colours, and no empty columns', () => {
    expect(table(columns, rows, Number.POSITIVE_INFINITY)).toEqual([
      'ID      KIND   URL',
      'a       short  http://localhost',
      `longer  ${green('kind')}`,
    ])
  })

  test.each([
    [31, 'ID      KIND   URL'],
    [30, 'ID      KIND'],
    [12, 'ID'],
    [3, 'ID'],
  ])('drops columns in their order in a width of %i', (width, heads) => {
    expect(table(columns, rows, width)[0]).toBe(heads)
  })
})

describe('a text', () => {
  test.each([
    ['one two three four five', 'one two three four\nfive'],
    ['  indented text that is long', '  indented text that\n  is long'],
    ['<-- [500] POST one two three', '<-- [500] POST one\n    two three'],
    ['12:00:05 --> a b c d e f g', '12:00:05 --> a b c d\n          e f g'],
    ['name  says what it is and', 'name  says what it\n      is and'],
    ['{"a":"bcdefgh","i":"jklmno"}', '{"a":"bcdefgh",\n"i":"jklmno"}'],
    ['http://localhost:3000/hooks?a=1 x', 'http://localhost:3000/hooks?a=1\nx'],
    [`${green('one two')} three four five`, `${green('one two')} three four\nfive`],
    ['🎷🎷🎷🎷🎷🎷🎷🎷🎷 end', '🎷🎷🎷🎷🎷🎷🎷🎷🎷\nend'],
    ['To see it: tix-webhooks clock', 'To see it:\ntix-webhooks clock'],
  ])('of %j ends its lines between words', (text, expected) => {
    expect(folded(text, 20)).toBe(expected)
  })

  test('loses nothing but blanks, and has no line that could be shorter', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 1, maxLength: 12 })),
        fc.integer({ min: 20, max: 80 }),
        (words, width) => {
          const text = words.map((word) => word.replaceAll(/\s/g, '_')).join(' ')
          const lines = folded(text, width)
          expect(lines.replaceAll(/\s+/g, '')).toBe(text.replaceAll(/\s+/g, ''))
          for (const one of lines.split('\n')) {
            expect(widthOf(one) <= width || !one.trim().includes(' ')).toBe(true)
          }
        },
      ),
    )
  })
})

test.each([
  ['{"a":"b c"}', '{"a":"b c"}'],
  ['a\r\n\tb', 'a<0d><0a><09>b'],
  ['\ufeff{}', '<ef bb bf>{}'],
  [' {} ', '<20>{}<20>'],
  [' ', '<20>'],
  ['Zoe\u0308, Zoë', 'Zoe<cc 88>, Zoë'],
  ['18\u00a0€\u2028', '18<c2 a0>€<e2 80 a8>'],
  ['\u202eabc', '<e2 80 ae>abc'],
  ['👩\u200d👧', '👩<e2 80 8d>👧'],
  ['\u001b[31m\u007f', '<1b>[31m<7f>'],
  // Half of a character is sent as the mark of what is no text.
  ['\ud83d', '<ef bf bd>'],
  ['<0a> <0A> <b> <ef bb bf>', '<3c>0a> <0A> <b> <3c>ef bb bf>'],
])('no byte of %j is invisible', (text, shown) => {
  expect(visible(text)).toBe(shown)
})

test.each([
  ['a'.repeat(40), 40, 'a'.repeat(40)],
  [`b${'a'.repeat(39)}c`, 40, `b${'a'.repeat(18)}…${'a'.repeat(8)}c (41 bytes)`],
  [`${'€'.repeat(99)}\n`, 40, `${'€'.repeat(18)}…${'€'.repeat(5)}<0a> (298 bytes)`],
  // None is cut in half.
  [`${'\n'.repeat(99)}`, 40, '<0a><0a><0a><0a>…<0a><0a> (99 bytes)'],
  ['\n'.repeat(11), 40, '<0a><0a><0a><0a>…<0a><0a> (11 bytes)'],
  ['x '.repeat(99), 40, 'x x x x x x x x x …x x x<20> (198 bytes)'],
])('a text that is too long shows its beginning, its end and its bytes: %j in %i', (text, columns, shown) => {
  expect(visibleWithin(text, columns)).toBe(shown)
  expect(widthOf(shown)).toBeLessThanOrEqual(columns)
})
