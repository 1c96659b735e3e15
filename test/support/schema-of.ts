import type { SchemaMap } from 'tix-webhooks'

type Schema = SchemaMap[string]

/** A Standard Schema by hand, for what no validator does on command. */
export function schemaOf(validate: (value: unknown) => unknown): Schema {
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: validate as Schema['~standard']['validate'],
    },
  }
}
