import { fileURLToPath } from 'node:url'

/** `runtimes/`. */
export const HERE = fileURLToPath(new URL('..', import.meta.url))
/** The root of the repository. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The bundled servers. */
export const BUILT = fileURLToPath(new URL('../.built', import.meta.url))
