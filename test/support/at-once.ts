/**
 * Runs all rows concurrently in one test, for cases that only wait: a deadline, a grace period. An error names its row.
 *
 * @throws the error of the one row that failed, or an `AggregateError`
 */
export async function atOnce<Row extends { readonly name: string }>(
  rows: readonly Row[],
  work: (row: Row) => Promise<void>,
): Promise<void> {
  const failures: Error[] = []
  await Promise.all(
    rows.map((row) =>
      work(row).catch((cause: Error) => {
        failures.push(new Error(`${row.name}: ${cause.message}`, { cause }))
      }),
    ),
  )
  if (failures.length > 1)
    throw new AggregateError(failures, failures.map(({ message }) => message).join('\n'))
  if (failures[0] !== undefined) throw failures[0]
}
