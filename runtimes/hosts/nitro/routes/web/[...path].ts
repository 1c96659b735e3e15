import { defineEventHandler, toWebRequest } from 'h3'
import { fetchApp } from '#lane/fetch-app'

const app = fetchApp()

export default defineEventHandler((event) => app(toWebRequest(event)))
