import { isRecord } from '../lib/option-names.js'

/** Points that the specification leaves open, if a second reading is likely enough that a team should test against it. */
export const ASSUMPTIONS = {
  signature: {
    says: 'The signed bytes and the algorithm of the signature: its header alone is documented.',
    choices: {
      dot: 'HMAC-SHA256 in hex of t + "." + body',
      concat: 'HMAC-SHA256 in hex of t + body, without the dot',
      body: 'HMAC-SHA256 in hex of the body alone',
    },
  },
  'network-error': {
    says: 'Whether an attempt without an answer is retried: retries are documented for a status that is not 2xx.',
    choices: { retry: 'it is retried', final: 'the delivery fails' },
  },
  'created-at': {
    says: 'How exact the created_at of a webhook is: ISO 8601 UTC alone is documented.',
    choices: {
      milliseconds: '2026-12-01T19:00:00.000Z, later than that of each event before',
      seconds: '2026-12-01T19:00:00Z, the same for all events of one second',
    },
  },
} as const

type Table = typeof ASSUMPTIONS
export type AssumptionName = keyof Table
/** One reading of each. The first choice of each is the default. */
export type Assumptions = { readonly [Name in AssumptionName]: keyof Table[Name]['choices'] }

/** The default readings. */
const DEFAULT_ASSUMPTIONS: Assumptions = {
  signature: 'dot',
  'network-error': 'retry',
  'created-at': 'milliseconds',
}

/**
 * The readings that are chosen, the others by default.
 *
 * @throws TypeError that names what there is to choose from
 */
export function assume(chosen: Readonly<Record<string, unknown>> = {}): Assumptions {
  if (!isRecord(chosen)) {
    throw new TypeError(
      'assume must be an object of assumptions and choices, such as { signature: "concat" }.',
    )
  }
  for (const [name, choice] of Object.entries(chosen)) {
    if (!Object.hasOwn(ASSUMPTIONS, name)) {
      throw new TypeError(
        `There is no assumption ${JSON.stringify(name)}: there are ${Object.keys(ASSUMPTIONS).join(', ')}.`,
      )
    }
    const { choices } = ASSUMPTIONS[name as AssumptionName]
    if (typeof choice !== 'string' || !Object.hasOwn(choices, choice)) {
      throw new TypeError(
        `The assumption ${name} is one of ${Object.keys(choices).join(', ')}, not ${JSON.stringify(choice)}.`,
      )
    }
  }
  return { ...DEFAULT_ASSUMPTIONS, ...chosen }
}
