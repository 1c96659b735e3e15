import { StoreError } from '../../src/index.js'

/** The error of a store in a database for rows without the selected values. */
export function unexpectedRows(): StoreError {
  return new StoreError(
    'store_misbehaved',
    'The client returned rows without the selected values: does a type parser or a plugin of it change booleans, numbers or text?',
  )
}
