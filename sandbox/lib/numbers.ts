/** Whether a value is a number within bounds, which are included. */
export function isWithin(value: unknown, least: number, most: number): value is number {
  return typeof value === 'number' && value >= least && value <= most
}

/** Whether a value is a whole number within bounds, which are included. */
export function isWholeWithin(value: unknown, least: number, most: number): value is number {
  return isWithin(value, least, most) && Number.isInteger(value)
}
