/*
 * Move the deadlines of all records, as if that much time had passed on the server. They run on other runtimes, too. Records past all their
 * deadlines stay unchanged: earlier tests leave many.
 */

export function shiftPostgres(table: string, ms: number): string {
  const columns = ['lease_until', 'expires_at', 'purge_after']
  const set = columns.map((column) => `${column} = ${column} - interval '${ms} ms'`)
  return `UPDATE ${table} SET ${set} WHERE greatest(${columns}) > now()`
}

export function shiftMysql(table: string, ms: number): string {
  const columns = ['lease_until', 'expires_at', 'purge_after']
  const set = columns.map((column) => `${column} = ${column} - INTERVAL ${ms * 1000} MICROSECOND`)
  return `UPDATE ${table} SET ${set} WHERE greatest(${columns}) > UTC_TIMESTAMP(6)`
}

/** A script of Redis with two arguments: the prefix of the keys, and the milliseconds. */
export const SHIFT_REDIS = `
  local cursor = '0'
  repeat
    local page = redis.call('SCAN', cursor, 'MATCH', ARGV[1] .. '*', 'COUNT', 1000)
    cursor = page[1]
    for _, key in ipairs(page[2]) do
      local rest = redis.call('PTTL', key) - ARGV[2]
      if rest <= 0 then redis.call('DEL', key) else redis.call('PEXPIRE', key, rest) end
    end
  until cursor == '0'
  return 1`
