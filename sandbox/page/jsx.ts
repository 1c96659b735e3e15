/** The functions that JSX compiles to. Their calls are shorter than those of the automatic runtime. */
export { Fragment, h } from 'preact'
