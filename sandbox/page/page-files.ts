import type { PageFiles } from '../../build/page.js'

/** The files that a browser loads: from source, built at the first request; in the package, text that the build puts here. */
export const pageFiles = async (): Promise<PageFiles> => (await import('../../build/page.js')).buildPage()
