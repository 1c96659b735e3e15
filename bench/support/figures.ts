import { type Figures, median } from './rounds.js'

/** The median, and in brackets the minimum and maximum of all rounds. */
export function spread(figures: Figures, format: (figure: number) => string = whole): string {
  return `${format(median(figures))} (${format(Math.min(...figures))}–${format(Math.max(...figures))})`
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
