import {
  answerTo,
  type ClaimRequest,
  type ClaimResult,
  memoryStore,
  type OutcomeCode,
  type OutcomeName,
  type PayloadCode,
  type RunCode,
  type StoreCode,
  type VerificationCode,
} from 'tix-webhooks'
import { expect, test } from 'vitest'
import { referencePage } from '../../build/reference.js'
import { resolveSettings } from '../../src/receiver/options/settings.js'
import { orderCreated } from '../support/deliveries.js'
import { readPage, tableUnder } from '../support/pages.js'
import { receiving } from '../support/receiving.js'

const PAGE = 'docs/reference.md'

/** The row of the answers for each code: a code missing here does not compile. */
const OUTCOMES: Readonly<Record<OutcomeCode, OutcomeName>> = {
  header_missing: 'malformed',
  header_malformed: 'malformed',
  body_incomplete: 'incomplete',
  signature_mismatch: 'unauthenticated',
  account_unknown: 'unauthenticated',
  timestamp_too_old: 'unauthenticated',
  timestamp_in_future: 'unauthenticated',
  method_not_allowed: 'method_not_allowed',
  too_large: 'too_large',
  handler_failed: 'failed',
  not_json: 'unprocessable',
  not_an_envelope: 'unprocessable',
  data_mismatch: 'unprocessable',
  misconfigured: 'misconfigured',
  in_flight: 'in_flight',
  timed_out: 'timed_out',
  given_up: 'timed_out',
  retry_later: 'retry_later',
  store_unavailable: 'unavailable',
  store_full: 'unavailable',
  store_misbehaved: 'unavailable',
  rolled_back: 'unavailable',
  draining: 'unavailable',
  too_many_runs: 'overloaded',
  secret_unavailable: 'unavailable',
  account_unavailable: 'unavailable',
  handled_before_unavailable: 'unavailable',
}

const WITHOUT_CODE: readonly OutcomeName[] = ['handled', 'duplicate', 'unhandled', 'discarded', 'parked']

const inCode = (cell = ''): string[] => cell.match(/(?<=`)[^` ]+(?=`)/g) ?? []

test('the generated tables are those of the source', () => {
  expect(readPage(PAGE), 'a docblock changed: npm run docs').toBe(referencePage())
})

test('the table of answers has every outcome, with the status and the header that it really gets', () => {
  const rows = tableUnder(PAGE, 'Answers').map(([outcome, status]) => [inCode(outcome)[0], status])
  const outcomes = [...new Set([...WITHOUT_CODE, ...Object.values(OUTCOMES)])]
  expect(rows.map(([outcome]) => outcome).sort()).toEqual([...outcomes].sort())
  for (const [outcome, promised] of rows) {
    const retry = answerTo({ outcome: outcome as OutcomeName }).status === 503 && { retryAfterSeconds: 5 }
    const { status, headers } = answerTo({ outcome: outcome as OutcomeName, ...retry })
    const extra = ['Allow', 'Retry-After'].filter((name) => name.toLowerCase() in headers)
    expect([outcome, [status, ...extra.map((name) => `\`${name}\``)].join(' + ')]).toEqual([
      outcome,
      promised,
    ])
  }
})

test('the table of answers has every code in the row of its outcome', () => {
  const rows = tableUnder(PAGE, 'Answers').flatMap(([outcome, , , codes]) =>
    inCode(codes).map((code) => [code, inCode(outcome)[0]]),
  )
  expect(Object.fromEntries(rows)).toEqual(OUTCOMES)
})

test('the table of errors has every code of a class', () => {
  type Code = VerificationCode | PayloadCode | StoreCode | RunCode
  const codes: Readonly<Record<Code, string>> = {
    header_missing: 'WebhookVerificationError',
    header_malformed: 'WebhookVerificationError',
    signature_mismatch: 'WebhookVerificationError',
    account_unknown: 'WebhookVerificationError',
    timestamp_too_old: 'WebhookVerificationError',
    timestamp_in_future: 'WebhookVerificationError',
    not_json: 'PayloadError',
    not_an_envelope: 'PayloadError',
    data_mismatch: 'PayloadError',
    store_unavailable: 'StoreError',
    store_full: 'StoreError',
    store_misbehaved: 'StoreError',
    rolled_back: 'StoreError',
    lease_lost: 'StoreError',
    not_recorded: 'StoreError',
    not_released: 'StoreError',
    not_kept: 'StoreError',
    handler_failed: 'RunError',
    timed_out: 'RunError',
    given_up: 'RunError',
  }
  const rows = tableUnder(PAGE, 'Errors').flatMap(([name, list]) =>
    inCode(list)
      .filter((code) => /^[a-z]+_/.test(code))
      .map((code) => [code, inCode(name)[0]]),
  )
  expect(Object.fromEntries(rows)).toMatchObject(codes)
})

test('the table of options has the defaults that really hold', async () => {
  const on = { 'order.created': () => {} }
  const settings = resolveSettings({ secret: 'whsec_test', on })
  const claims: ClaimRequest[] = []
  const store = Object.assign(memoryStore(), {
    claim(request: ClaimRequest): ClaimResult {
      claims.push(request)
      return { status: 'completed' }
    },
  })
  const { send } = receiving({ store, namespace: 'test', on })
  await send(orderCreated())
  const [claim] = claims
  const really = {
    timeoutSeconds: settings.timeoutMs / 1000,
    maxRunSeconds: settings.maxRunMs / 1000,
    leaseSeconds: (claim?.leaseMs ?? 0) / 1000,
    retentionSeconds: (claim?.retainMs ?? 0) / 1000,
    toleranceSeconds: settings.toleranceSeconds,
    maxBodyBytes: settings.maxBodyBytes,
  }
  const promised = tableUnder(PAGE, 'Options').map(([option, value = '']) => [
    inCode(option)[0],
    Number.parseFloat(value.replaceAll(',', '')),
  ])
  expect(Object.fromEntries(promised)).toMatchObject(really)
})
