export type { StoreCase, StoreHarness } from './store-case.js'
export { storeCases } from './store-cases.js'
