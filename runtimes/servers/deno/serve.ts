declare const Deno: {
  serve(
    options: { port: number; onListen(address: { port: number }): void },
    fetch: (request: Request) => Response | Promise<Response>,
  ): unknown
}

/** Serves the app with `Deno.serve`. */
export function serve(fetch: (request: Request) => Response | Promise<Response>): void {
  Deno.serve({ port: 0, onListen: ({ port }) => console.log(`listening ${port}`) }, fetch)
}
