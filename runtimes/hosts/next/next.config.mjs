import { fileURLToPath } from 'node:url'

// The app of the lanes and the settings of the compiler are outside this folder.
const root = fileURLToPath(new URL('../../..', import.meta.url))

export default { turbopack: { root }, outputFileTracingRoot: root }
