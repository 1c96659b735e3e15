/** What the sandbox is made of, and a page of a test environment lacks or has in another form. */
const GLOBALS = ['Request', 'Response', 'ReadableStream', 'structuredClone'] as const

/** @throws Error in a test environment that is a page, such as jsdom: nothing that is signed or sent there would ever arrive */
export function checkRuntime(): void {
  const lacking = GLOBALS.find((name) => globalThis[name] === undefined)
  if (lacking === undefined && Buffer.alloc(0) instanceof Uint8Array) return
  const what = lacking === undefined ? "its Uint8Array is not Node's" : `there is no ${lacking}`
  throw new Error(
    `The sandbox needs Node, and this test environment is a page, such as jsdom's: ${what}. Begin the test file with /** @jest-environment node */ or // @vitest-environment node.`,
  )
}
