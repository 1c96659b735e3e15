import { open, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { codeOf, UsageError, wordsOf } from './failure.js'
import type { Io } from './io.js'

/** How much a file or the standard input may hold. */
export const MAX_INPUT_BYTES = 64 * 1024 * 1024

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

/** The bytes of a file, or of the standard input where the path is `-`. */
export async function readFile(path: string, name: string, io: Io): Promise<Uint8Array> {
  if (path === '-') return readStdin(io)
  if (path === '') throw new UsageError(`${name} names no file: write @ and its path.`)
  try {
    const file = await open(resolve(io.cwd(), path))
    try {
      const { size } = await file.stat()
      if (size > MAX_INPUT_BYTES) throw new UsageError(`${path} is too large: at most 64 MiB.`)
      return await file.readFile()
    } finally {
      await file.close()
    }
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    throw new UsageError(`${name}: ${REASONS[codeOf(cause) ?? ''] ?? wordsOf(cause)}: ${path}`, { cause })
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'you may not read this file',
  EISDIR: 'this is a folder, not a file',
}

async function readStdin({ stdin }: Io): Promise<Uint8Array> {
  try {
    return await stdin()
  } catch (cause) {
    throw new UsageError(`Standard input cannot be read: ${wordsOf(cause)}`, { cause })
  }
}

/** As UTF-8, without the mark that some editors put first. */
export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}
