import { fileURLToPath } from 'node:url'
import { sveltekit } from '@sveltejs/kit/vite'

// Its adapter needs a package.json here, which hides the `imports` of the one above.
const lane = fileURLToPath(new URL('../../.built/lane', import.meta.url))

export default {
  plugins: [sveltekit()],
  resolve: { alias: { '#lane/fetch-app': `${lane}/fetch-app.mjs` } },
}
