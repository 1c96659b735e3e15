import { answerCases } from './answers.js'
import { bodyCases } from './bodies.js'
import { brokenClientCases } from './broken-clients.js'
import type { Case } from './case.js'
import { drainCases } from './drains.js'
import { runCases } from './runs.js'
import { settingCases } from './settings.js'

/** All cases, over HTTP alone: they know nothing of the runtime or the framework. */
export const cases: readonly Case[] = [
  ...answerCases,
  ...bodyCases,
  ...brokenClientCases,
  ...runCases,
  ...settingCases,
  ...drainCases,
]
