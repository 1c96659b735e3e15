import type { PageFiles } from '../build/page.js'

let built: Promise<PageFiles> | undefined

/** The files that a browser loads: from source, built at the first request of this process; in the package, text that the build puts here. */
export const pageFiles = (): Promise<PageFiles> =>
  (built ??= import('../build/page.js').then(({ buildPage }) => buildPage()))
