import { whole } from './figures.js'
import { type Figures, quantile, undisturbed } from './rounds.js'

/** A chart of how a cost grows. Both axes are logarithmic: proportional growth is a straight line. */
export interface Plot {
  /** Its file name in the folder of the results. */
  readonly file: string
  readonly title: string
  readonly x: string
  readonly y: string
  readonly lines: readonly Line[]
}

interface Line {
  readonly name: string
  readonly points: readonly Point[]
}

/** The times of all rounds: the line goes through what the best tenth reach, and a bar goes up to their median. */
export interface Point {
  readonly x: number
  /** The label of `x` on its axis. */
  readonly label: string
  readonly figures: Figures
}

const [WIDTH, HEIGHT] = [720, 420]
const [LEFT, RIGHT, TOP, BOTTOM] = [84, WIDTH - 30, 80, HEIGHT - 60]

/** Colours that people with colour blindness can distinguish, on light and dark backgrounds. */
const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 15px; font-weight: 600 }
  .ground { fill: #ffffff }
  .grid { stroke: #d8dee4 }
  .line0 { stroke: #0969da; fill: #0969da }
  .line1 { stroke: #bc4c00; fill: #bc4c00 }
  .path { fill: none; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .ground { fill: #0d1117 }
    .grid { stroke: #30363d }
    .line0 { stroke: #58a6ff; fill: #58a6ff }
    .line1 { stroke: #f0883e; fill: #f0883e }
    .path { fill: none }
  }`

/** Draws it, with the points of the first line as the ticks below. */
export function svg({ title, x, y, lines }: Plot): string {
  const points = lines.flatMap((line) => line.points)
  const across = scale(
    points.map((point) => point.x),
    [LEFT + 20, RIGHT - 20],
  )
  const ticks = ticksAround(
    points.flatMap(({ figures }) => [undisturbed(figures, 'time'), quantile(figures, 0.5)]),
  )
  const up = scale(ticks, [BOTTOM, TOP])
  const [centre, middle] = [(LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2]
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(title)}">`,
    `<style>${STYLE}\n</style>`,
    `<rect class="ground" width="${WIDTH}" height="${HEIGHT}"/>`,
    text(title, LEFT, 28, 'class="title"'),
    text(x, centre, HEIGHT - 16, 'text-anchor="middle"'),
    text(y, 20, middle, `text-anchor="middle" transform="rotate(-90 20 ${middle})"`),
    ...ticks.flatMap((tick) => [
      `<path class="grid" d="M${LEFT} ${up(tick)}H${RIGHT}"/>`,
      text(tick >= 1 ? whole(tick) : `${tick}`, LEFT - 8, up(tick) + 4, 'text-anchor="end"'),
    ]),
    ...(lines[0]?.points ?? []).flatMap((point) => [
      `<path class="grid" d="M${across(point.x)} ${TOP}V${BOTTOM}"/>`,
      text(point.label, across(point.x), BOTTOM + 20, 'text-anchor="middle"'),
    ]),
    ...lines.flatMap((line, i) => drawn(line, i, across, up)),
    '</svg>',
  ].join('\n')}\n`
}

type Scale = (value: number) => number

function drawn({ name, points }: Line, i: number, across: Scale, up: Scale): string[] {
  const legend = LEFT + i * 240
  const path = points.map(({ x, figures }) => `${across(x)} ${up(undisturbed(figures, 'time'))}`).join('L')
  return [
    marker(i, legend + 8, 52),
    text(name, legend + 22, 56),
    `<path class="line${i} path" d="M${path}"/>`,
    ...points.flatMap(({ x, figures }) => [
      `<path class="line${i}" d="M${across(x)} ${up(undisturbed(figures, 'time'))}V${up(quantile(figures, 0.5))}"/>`,
      marker(i, across(x), up(undisturbed(figures, 'time'))),
    ]),
  ]
}

/** The lines differ in shape too, not only in colour. */
function marker(i: number, x: number, y: number): string {
  return i === 0
    ? `<circle class="line${i}" cx="${x}" cy="${y}" r="4"/>`
    : `<rect class="line${i}" x="${rounded(x - 4)}" y="${rounded(y - 4)}" width="8" height="8"/>`
}

function scale(values: readonly number[], [from, to]: readonly [number, number]): Scale {
  const [least, most] = [Math.log(Math.min(...values)), Math.log(Math.max(...values))]
  return (value) => rounded(from + ((Math.log(value) - least) / (most - least)) * (to - from))
}

/** 1, 2, 5, 10, 20 and so on, enough to enclose all values. */
function ticksAround(values: readonly number[]): number[] {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  const decades = Array.from({ length: 16 }, (_, i) => i - 6)
  const all = decades.flatMap((decade) => [1, 2, 5].map((digit) => Number(`${digit}e${decade}`)))
  const first = all.filter((tick) => tick <= least).length - 1
  const last = all.findIndex((tick) => tick >= most)
  return all.slice(first, Math.max(last, first + 1) + 1)
}

function text(content: string, x: number, y: number, attributes = ''): string {
  return `<text x="${x}" y="${y}" ${attributes}>${escaped(content)}</text>`
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

/** A tenth of a pixel is invisible. */
function rounded(position: number): number {
  return Math.round(position * 10) / 10
}
