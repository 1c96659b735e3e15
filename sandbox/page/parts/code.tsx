import { useState } from 'preact/hooks'
import { bytes } from '../data/words.js'
import { Scrolls } from './scrolls.js'
import { Shown } from './shown.js'

/** Longer text is shown after a click: a browser takes long to lay out a megabyte. */
const SHOWN_CHARACTERS = 32 * 1024
/** Deeper JSON is shown raw: indentation would make it many times larger. */
const MAX_DEPTH = 64

interface CodeProps {
  readonly text: string
  readonly label: string
  /** Names, texts and numbers in colours. */
  readonly isJson?: boolean
}

/** Bytes as text, in a box of its own. */
export function Code({ text, label, isJson = false }: CodeProps) {
  const [isWhole, setWhole] = useState(false)
  const isCut = !isWhole && text.length > SHOWN_CHARACTERS
  const shown = isCut ? text.slice(0, SHOWN_CHARACTERS) : text
  return (
    <>
      <Scrolls as="pre" label={label}>
        {text === '' ? <i>empty</i> : isJson && !isWhole ? <Json text={shown} /> : <Shown text={shown} />}
      </Scrolls>
      {isCut && (
        <p class="more">
          The first {SHOWN_CHARACTERS / 1024} KiB of {bytes(text)}.{' '}
          <button type="button" class="small" onClick={() => setWhole(true)}>
            Show all
          </button>
        </p>
      )}
    </>
  )
}

function Json({ text }: { readonly text: string }) {
  const parts = []
  let end = 0
  for (const match of text.matchAll(/("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|-?\d[\d.eE+-]*|true|false|null/g)) {
    const [whole, quoted, colon] = match
    parts.push(text.slice(end, match.index))
    end = match.index + whole.length
    const token = quoted ?? whole
    parts.push(
      <span class={quoted === undefined ? 'json-value' : colon === undefined ? 'json-text' : 'json-name'}>
        <Shown text={token} />
      </span>,
      colon,
    )
  }
  return (
    <>
      {parts}
      {text.slice(end)}
    </>
  )
}

/** JSON with indentation, each name and number as it was sent; undefined if the text is not JSON, or too deep. */
export function pretty(text: string): string | undefined {
  try {
    JSON.parse(text)
  } catch {
    return undefined
  }
  const tokens = text.match(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? []
  let depth = 0
  let result = ''
  for (const [index, token] of tokens.entries()) {
    const isOpen = token === '{' || token === '['
    const isClose = token === '}' || token === ']'
    const isEmpty = isClose && '{['.includes(tokens[index - 1] || '-')
    if (isClose) depth -= 1
    if (depth > MAX_DEPTH) return undefined
    if (isClose && !isEmpty) result += line(depth)
    result += token === ':' ? ': ' : token
    if (isOpen) depth += 1
    const next = tokens[index + 1] ?? ''
    if (token === ',' || (isOpen && next !== '}' && next !== ']')) result += line(depth)
  }
  return result
}

const line = (depth: number): string => `\n${'  '.repeat(depth)}`

/** Headers, a line for each. */
export function Headers({ headers }: { readonly headers: Readonly<Record<string, string>> }) {
  const entries = Object.entries(headers)
  if (entries.length === 0) return <p class="dim">none</p>
  return (
    <dl class="headers">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>
            <Shown text={name} />
          </dt>
          <dd>
            <Shown text={value} />
          </dd>
        </div>
      ))}
    </dl>
  )
}
