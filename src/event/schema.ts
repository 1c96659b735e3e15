import type { PayloadIssue } from '../errors.js'

/**
 * A validator that types and checks the data of a kind: the part of the Standard Schema interface (standardschema.dev, version 1) that we
 * use. zod, valibot and arktype implement it.
 */
export interface StandardSchemaV1<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

/** A schema's verdict on a value: its output, or its issues. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/**
 * Schemas by kind; one that is `undefined` counts as absent.
 *
 * @typeParam Kind `keyof Schemas` in a constraint, so that an interface fits, which has no index signature
 */
export type SchemaMap<Kind extends PropertyKey = string> = {
  readonly [K in Kind]?: StandardSchemaV1 | undefined
}

/** The type of the data that a schema outputs. */
export type OutputOf<Schema> = Schema extends StandardSchemaV1
  ? NonNullable<Schema['~standard']['types']>['output']
  : never

/**
 * A schema that checks nothing and types the data as `Data`: for a kind that you do not want to validate yet.
 *
 * @example
 * ```ts
 * tixWebhooks({ secret, schemas: { 'order.refunded': unchecked<Refund>() }, on: { 'order.refunded': (event) => refund(event.data) } })
 * ```
 */
export function unchecked<Data>(): StandardSchemaV1<unknown, Data> {
  return {
    '~standard': { version: 1, vendor: 'tix-webhooks', validate: (value) => ({ value: value as Data }) },
  }
}

/** Whether the value can validate. A schema may be a function, as arktype's are. */
export function isStandardSchema(value: unknown): value is StandardSchemaV1 {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  const standard = (value as Partial<StandardSchemaV1>)['~standard']
  return typeof standard?.validate === 'function'
}

/** A schema's issues as ours; `under` is the path of the validated value in the payload. */
export function toPayloadIssues(issues: readonly SchemaIssue[], under: PropertyKey): readonly PayloadIssue[] {
  return issues.map(({ message, path = [] }) => ({
    path: [under, ...path.map((step) => (typeof step === 'object' ? step.key : step))],
    message,
  }))
}
