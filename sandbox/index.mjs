// For `import`: one copy of the code, in CommonJS, serves both module systems.
export { createSandbox } from './dist/index.cjs'
