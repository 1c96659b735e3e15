import { storableText } from '../../../src/internal.js'
import { bytesIn } from '../../sql/kept-text.js'

/** How text that may have any character is kept in the columns of a database, so that it comes back as it was. */
export interface Texts {
  write(text: string): string
  read(text: string): string
}

/** NUL and halves of surrogate pairs, which Postgres holds in no encoding, are replaced. */
export const UTF8_TEXTS: Texts = { write: storableText, read: (text) => text }

/** Escapes text to ASCII, as JSON does, for a database in an encoding that lacks some characters. */
export const ASCII_TEXTS: Texts = {
  write: (text) => asciiJson(storableText(text)).slice(1, -1),
  read: (text) => String(JSON.parse(`"${text}"`)),
}

/** JSON that is the same in every encoding of a client. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** SQL for bytes as `bytesIn` reads them: clients can be set to change text, its letters, its spaces, its numbers. */
export function hexIn(bytes: string): string {
  return `'x' || encode(${bytes}, 'hex')`
}

/** The JSON in a column that `hexIn` selects. */
export function jsonIn(value: unknown): readonly unknown[] {
  return JSON.parse(UTF8.decode(bytesIn(value))) as readonly unknown[]
}

const UTF8 = new TextDecoder()
