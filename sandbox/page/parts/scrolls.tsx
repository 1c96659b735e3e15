import type { ComponentChildren } from 'preact'

interface ScrollsProps {
  readonly as: 'div' | 'pre'
  readonly label: string
  readonly class?: string
  readonly children: ComponentChildren
}

/** A box that scrolls. It takes the focus, or the keyboard would not reach what is outside of it. */
export function Scrolls({ as: Box, label, children, ...rest }: ScrollsProps) {
  return (
    <Box tabIndex={0} role="group" aria-label={label} {...rest}>
      {children}
    </Box>
  )
}
