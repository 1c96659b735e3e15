import { Component, type ComponentChild, type FunctionComponent } from 'preact'

/** Draws a component again only if one of its properties changed. */
export function memo<Props extends object>(draw: FunctionComponent<Props>): FunctionComponent<Props> {
  class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      const before = this.props as Record<string, unknown>
      return Object.entries(next).some(([name, value]) => before[name] !== value)
    }
    override render(): ComponentChild {
      return draw(this.props, undefined) as ComponentChild
    }
  }
  return Memo as unknown as FunctionComponent<Props>
}
