import type { StandardSchemaV1 } from 'tix-webhooks'

/** A hand-written Standard Schema, for results that no validator returns on command. */
export function schemaOf(validate: (value: unknown) => unknown): StandardSchemaV1 {
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: validate as StandardSchemaV1['~standard']['validate'],
    },
  }
}
