import { readFileSync } from 'node:fs'
import { EdgeRuntime, runServer } from 'edge-runtime'

/** Starts a bundled Worker in edge-runtime: its file. */
const [file = ''] = process.argv.slice(2)

const server = await runServer({
  host: '127.0.0.1',
  port: 0,
  runtime: new EdgeRuntime({ initialCode: readFileSync(file, 'utf8') }),
})
console.log(`listening ${new URL(server.url).port}`)
