/** Whether a day written `YYYY-MM-DD` exists. `Date.parse` reads 30 February as 2 March. */
export function isCalendarDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day)
}
