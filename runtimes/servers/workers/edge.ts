import { fetchApp } from '../../app/fetch-app.js'

interface FetchEvent {
  readonly request: Request
  respondWith(response: Promise<Response>): void
  waitUntil(work: Promise<unknown>): void
}
declare function addEventListener(type: 'fetch', listener: (event: FetchEvent) => void): void

const app = fetchApp()

addEventListener('fetch', (event) => {
  event.respondWith(app(event.request, { waitUntil: (work) => event.waitUntil(work) }))
})
