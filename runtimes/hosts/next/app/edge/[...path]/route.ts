import { after } from 'next/server'
import { fetchApp } from '#lane/fetch-app'

const app = fetchApp()

const handle = (request: Request): Promise<Response> => app(request, { waitUntil: (work) => after(work) })

export { handle as GET, handle as POST }
export const runtime = 'edge'
