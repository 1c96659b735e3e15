import type { Io } from '../io.js'
import { readBytes, textOf } from './input.js'
import { readObject } from './values.js'

const IN_A_FILE = { example: '{"order":{"id":"ord_1"}}', cure: 'Correct it there.' }

/** The data of an event, as `--data` gives it: JSON, `@file`, or `-` for the standard input. */
export async function readData(source: string, io: Io): Promise<Record<string, unknown>> {
  const text = textOf(await readBytes(source, '--data', io))
  return readObject(text, '--data', /^(@|-$)/.test(source) ? IN_A_FILE : undefined)
}
