/** The part of a promise pool of mysql2, or of a pool of mariadb, that is used. */
export interface MysqlPool {
  getConnection(): Promise<MysqlConnection>
  query(options: { sql: string }): Promise<unknown>
  end(): Promise<unknown>
}

/** The part of a connection of that pool that is used. */
export interface MysqlConnection {
  readonly threadId: number | null
  query(options: {
    sql: string
    rowsAsArray?: boolean
    nestTables?: boolean
    metaAsArray?: boolean
  }): Promise<unknown>
  release(): unknown
  destroy(): void
  on(event: 'error' | 'end', listener: (error?: unknown) => void): unknown
  removeListener(event: 'error' | 'end', listener: (error?: unknown) => void): unknown
}
