import { constants } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { codeOf, messageOf, UsageError } from '../failure.js'
import type { Io } from '../io.js'
import { readObject } from './values.js'

/** How much a file or the standard input may hold. */
export const MAX_INPUT_BYTES = 64 * 1024 * 1024

const { O_RDONLY, O_NONBLOCK } = constants
const IS_FOLDER = 'this is a folder, not a file'

/** The bytes of `@file`, of `-` (the standard input), or of the text itself. */
export async function readBytes(source: string, name: string, io: Io): Promise<Uint8Array> {
  if (source === '-') return readStdin(io)
  if (source.startsWith('@')) return readFile(source.slice(1), name, io)
  if (await isFileName(source, io)) {
    throw new UsageError(
      `${name} ${source} is the name of a file: write ${name} @${source} for its bytes. If you mean this very text, pipe it: ${name} -`,
    )
  }
  return new TextEncoder().encode(source)
}

/** Whether the `@` was probably forgotten: there is such a file, or it looks like one. */
async function isFileName(text: string, { cwd }: Io): Promise<boolean> {
  if (!/^[\w./\\ -]{1,255}$/.test(text)) return false
  if (/^\S+\.(json|txt|bin|body|raw)$/i.test(text)) return true
  return stat(resolve(cwd(), text)).then(
    (there) => there.isFile(),
    () => false,
  )
}

/** The bytes of a file, or of the standard input if the path is `-`. */
export async function readFile(path: string, name: string, io: Io): Promise<Uint8Array> {
  if (path === '-') return readStdin(io)
  if (path === '') throw new UsageError(`${name} names no file: write @ and its path.`)
  try {
    // Without O_NONBLOCK, opening a pipe would wait before it can be refused. Windows lacks the flag.
    const file = await open(resolve(io.cwd(), path), O_RDONLY | (O_NONBLOCK ?? 0))
    try {
      const stats = await file.stat()
      if (stats.isDirectory()) throw new UsageError(`${name}: ${IS_FOLDER}: ${path}`)
      if (!stats.isFile()) {
        throw new UsageError(
          `${name}: this is a pipe or a device, not a file: ${path}. Pipe it into standard input instead: -`,
        )
      }
      if (stats.size > MAX_INPUT_BYTES) throw tooLarge(path)
      return await readUpTo(file, path)
    } finally {
      await file.close()
    }
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    throw new UsageError(`${name}: ${REASONS[codeOf(cause) ?? ''] ?? messageOf(cause)}: ${path}`, { cause })
  }
}

/** Reads without trusting the file's size: those in `/proc` report 0, and others grow. */
async function readUpTo(file: FileHandle, path: string): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of file.createReadStream({ autoClose: false, end: MAX_INPUT_BYTES })) {
    size += chunk.length
    chunks.push(chunk)
  }
  // `end` is inclusive: one byte more than the limit is read.
  if (size > MAX_INPUT_BYTES) throw tooLarge(path)
  return Buffer.concat(chunks)
}

const tooLarge = (path: string): UsageError => new UsageError(`${path} is too large: at most 64 MiB.`)

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'you may not read this file',
  EISDIR: IS_FOLDER,
}

async function readStdin({ stdin }: Io): Promise<Uint8Array> {
  try {
    return await stdin()
  } catch (cause) {
    throw new UsageError(`Standard input cannot be read: ${messageOf(cause)}`, { cause })
  }
}

/** The text of UTF-8 bytes, without the byte order mark that some editors write. */
export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}

/** A captured event, as `--event` gives it: the text of `@file`, of `-`, or of the value itself, exactly as it is. */
export async function readExactText(source: string, name: string, io: Io): Promise<string> {
  const bytes = await readBytes(source, name, io)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new UsageError(`${name} is not UTF-8, as the body of a webhook is.`, { cause })
  }
}

const IN_A_FILE = { example: '{"order":{"id":"ord_1"}}', cure: 'Correct it there.' }

/** The data of an event, as `--data` gives it: JSON, `@file`, or `-` for the standard input. */
export async function readData(source: string, io: Io): Promise<Record<string, unknown>> {
  const text = textOf(await readBytes(source, '--data', io))
  return readObject(text, '--data', /^(@|-$)/.test(source) ? IN_A_FILE : undefined)
}
