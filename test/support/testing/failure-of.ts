/** Why a case fails on a harness. */
export async function failureOf<Harness>(
  cases: readonly { readonly id: string; run(harness: Harness): Promise<void> }[],
  id: string,
  harness: Harness,
): Promise<Error> {
  const one = cases.find((candidate) => candidate.id === id)
  if (one === undefined) throw new Error(`there is no case ${id}`)
  return one.run(harness).then(
    () => new Error(`${id} did not fail`),
    (error: Error) => error,
  )
}
