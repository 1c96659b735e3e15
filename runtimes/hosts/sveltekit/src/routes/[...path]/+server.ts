import { fetchApp } from '#lane/fetch-app'

const app = fetchApp()

const handle = ({ request }: { request: Request }): Promise<Response> => app(request)

export { handle as GET, handle as POST }
