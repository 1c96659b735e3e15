import type { Estimate } from './rounds.js'

/** The figure, and in brackets its range over parts of the rounds, unless it is exact. */
export function spread({ value, least, most }: Estimate, format: (figure: number) => string = whole): string {
  if (least === most) return format(value)
  return `${format(value)} (${format(least)}–${format(most)})`
}

/** Whole, with separators of thousands. */
export function whole(figure: number): string {
  return Math.round(figure).toLocaleString('en')
}

/** Three significant digits. */
export function short(figure: number): string {
  return figure >= 100 ? whole(figure) : figure.toPrecision(figure >= 10 ? 3 : 2)
}

export function times(figure: number): string {
  return `${figure.toFixed(2)}×`
}
