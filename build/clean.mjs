// tsup would clean for each of its configurations, and so delete the output of another one.
import { rmSync } from 'node:fs'

rmSync('dist', { recursive: true, force: true })
