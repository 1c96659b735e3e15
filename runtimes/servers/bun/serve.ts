declare const Bun: {
  serve(options: {
    port: number
    idleTimeout: number
    fetch(request: Request): Response | Promise<Response>
  }): { port: number }
}

/** Serves the app with `Bun.serve`. */
export function serve(fetch: (request: Request) => Response | Promise<Response>): void {
  // The conformance cases answer when they are done: Bun would cut the connection after 10 s.
  const { port } = Bun.serve({ port: 0, idleTimeout: 255, fetch })
  console.log(`listening ${port}`)
}
