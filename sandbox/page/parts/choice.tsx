interface ChoiceProps {
  readonly label: string
  /** The name of the field in its form. Default: none. */
  readonly name?: string
  readonly choices: readonly string[]
  /** Stands first, for no choice. */
  readonly none?: string
  readonly value?: string
  readonly choose?: (value: string) => void
}

/** A list to choose from. Its label is beside it, not around it: the choices are no part of its name. */
export function Choice({ label, choices, none, choose, ...rest }: ChoiceProps) {
  const id = `choice-${label}`
  return (
    <div>
      <label for={id}>{label}</label>
      <select id={id} {...rest} onChange={(event) => choose?.(event.currentTarget.value)}>
        {none && <option value="">{none}</option>}
        {choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    </div>
  )
}
