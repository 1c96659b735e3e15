import { defineNitroConfig } from 'nitropack/config'

export default defineNitroConfig({ compatibilityDate: '2026-07-01', logLevel: 1 })
