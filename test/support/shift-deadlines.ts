/*
 * Move all dates of a ledger back, as if that much time had passed on the server. They run on other runtimes, too. Events past their retention stay
 * unchanged: earlier tests leave many.
 */

const DATES = [
  ...['lease_until', 'expires_at', 'received_at', 'handled_at'],
  ...['failed_at', 'first_at', 'delivered_at', 'replayed_at'],
]

function shift(table: string, ms: number, now: string): string {
  return `UPDATE ${table} SET ${DATES.map((date) => `${date} = ${date} - ${ms}`)} WHERE expires_at > ${now}`
}

export function shiftPostgres(table: string, ms: number): string {
  return shift(table, Math.round(ms), "date_part('epoch', now()) * 1000")
}

export function shiftMysql(table: string, ms: number): string {
  return shift(table, Math.round(ms), 'UNIX_TIMESTAMP(NOW(3)) * 1000')
}

/** Of D1 and the objects, whose clock is the database's. */
export function shiftHosted(table: string, ms: number): string {
  return shift(table, Math.round(ms), 'unixepoch() * 1000')
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
