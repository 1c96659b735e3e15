// tsup would clean for each of its configurations, and so take away what another one has written.
import { rmSync } from 'node:fs'

rmSync('dist', { recursive: true, force: true })
