import type { StandardSchemaV1 } from 'tix-webhooks'

/** A Standard Schema by hand, for what no validator does on command. */
export function schemaOf(validate: (value: unknown) => unknown): StandardSchemaV1 {
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: validate as StandardSchemaV1['~standard']['validate'],
    },
  }
}
