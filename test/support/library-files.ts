import { snippetsFolder } from './compile.js'
import { readPage } from './pages.js'

/** Loads a file of examples/libraries, with all its declarations exported, and with a single connection in its pool. */
export async function loadLibrary<Names>(database: 'postgres' | 'mysql', name: string): Promise<Names> {
  const slug = name.toLowerCase().replaceAll(/\W+/g, '-')
  const code = readPage(`examples/libraries/${database}-${slug}.ts`)
    .replaceAll(/^(const|class) /gm, 'export $1 ')
    .replace(/\b(max|poolSize|maximumPoolSize|connectionLimit): 20\b/, '$1: 1')
  const { write, remove } = snippetsFolder()
  try {
    return await import(/* @vite-ignore */ write('library', code))
  } finally {
    remove()
  }
}
