import { expect } from 'vitest'
import { throws } from './promises.js'

const broken = new Error('the wrong client')

/** Functions that are no `as` for an inbox, and the error of its runs. */
export const BAD_AS: readonly [what: string, as: () => unknown, error: object][] = [
  ['throws', throws(broken), { name: 'UnavailableError', code: 'store_unavailable', cause: broken }],
  [
    'returns no transaction',
    () => undefined,
    {
      code: 'misconfigured',
      message: expect.stringContaining('as of the inbox returned undefined: it must'),
    },
  ],
]
