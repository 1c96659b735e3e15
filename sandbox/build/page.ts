import { fileURLToPath } from 'node:url'
import type { BuildOptions, Plugin } from 'esbuild'

/** The files of the sandbox's page that a browser loads. */
export interface PageFiles {
  readonly script: string
  readonly style: string
}

const SOURCE = fileURLToPath(new URL('../page/', import.meta.url))

/** The browsers that it is built for: what their developers have had for two years. */
const TARGET = ['chrome120', 'firefox121', 'safari17']

const OPTIONS = {
  bundle: true,
  minify: true,
  write: false,
  target: TARGET,
  format: 'esm',
  jsx: 'transform',
  jsxFactory: 'h',
  jsxFragment: 'Fragment',
  inject: [`${SOURCE}jsx.ts`],
  // That of the repository says something else of JSX, for the type check alone.
  tsconfigRaw: {},
  charset: 'utf8',
  legalComments: 'none',
} satisfies BuildOptions

/** Bundles the page: one script with its library, and one style. */
export async function buildPage(): Promise<PageFiles> {
  // Loaded when it is needed: most users of the sandbox's source never request the page.
  const { build } = await import('esbuild')
  const [script, style] = await Promise.all(
    ['main.tsx', 'style/page.css'].map(async (entry) => {
      const { outputFiles } = await build({ ...OPTIONS, entryPoints: [`${SOURCE}${entry}`] })
      return outputFiles[0]?.text ?? ''
    }),
  )
  return { script: script ?? '', style: style ?? '' }
}

/** Puts the built page into a bundle, in place of the module that would build it. */
export function bundledPage(): Plugin {
  return {
    name: 'bundled-page',
    setup(build) {
      build.onLoad({ filter: /sandbox[\\/]http[\\/]page-files\.ts$/ }, async () => {
        const files = JSON.stringify(await buildPage())
        return { contents: `export const pageFiles = async () => (${files})`, loader: 'js' }
      })
    },
  }
}
