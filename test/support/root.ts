import { fileURLToPath } from 'node:url'

/** The root of the package, with a slash at its end. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
