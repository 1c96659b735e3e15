/** The functions that the build compiles JSX to: their calls are shorter than those of the automatic runtime. */
export { Fragment, h } from 'preact'
