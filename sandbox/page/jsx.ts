/** What the build makes of JSX: calls of these are shorter than those of the automatic runtime. */
export { Fragment, h } from 'preact'
