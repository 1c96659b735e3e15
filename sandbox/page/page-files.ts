import type { PageFiles } from '../../build/page.js'

/** What a browser loads. From the source, it is built when it is first asked for; the build of the package puts it here as text. */
export const pageFiles = async (): Promise<PageFiles> => (await import('../../build/page.js')).buildPage()
