/** Parses the text of an option's value. `name` is for the message. @throws UsageError */
export type Read<Value> = (text: string, name: string) => Value

/** An option of a command, from which the help is written and the command line is parsed. */
export interface Option<Value> {
  readonly kind: 'flag' | 'single' | 'repeatable'
  readonly says: string
  /** The placeholder of the value in the help, such as `URL`. */
  readonly value?: string
  /** The text that is read if the option is not given. */
  readonly fallback?: string
  /** A flag that is on by default: the help shows `--no-<name>`. */
  readonly isOn?: true
  /** One letter that stands for the name. */
  readonly short?: string
  readonly read: (given: Given) => Value
}

/** The parsed occurrences of an option. */
export interface Given {
  readonly name: string
  readonly texts: readonly string[]
  /** The value of a flag; absent if it is not given. */
  readonly on: boolean | undefined
}

/** The options of a command, by their names. */
export type OptionTable = Readonly<Record<string, Option<unknown>>>

/** The values that a table of options gives. */
export type Values<Table extends OptionTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Option<infer Value> ? Value : never
}

/** A flag. `--no-<name>` turns it off. */
export function flag(says: string, { short }: { short?: string } = {}): Option<boolean> {
  return { kind: 'flag', says, read: ({ on = false }) => on, ...(short !== undefined && { short }) }
}

/** A flag that is on by default. @param says what `--no-<name>` does */
export function flagThatIsOn(says: string): Option<boolean> {
  return { kind: 'flag', says, isOn: true, read: ({ on = true }) => on }
}

/** An option with a value, which may be given only once. */
export function option<Value>(value: string, read: Read<Value>, says: string): Option<Value | undefined>
/** The same, with a default. */
export function option<Value>(value: string, read: Read<Value>, says: string, fallback: string): Option<Value>
export function option<Value>(
  value: string,
  read: Read<Value>,
  says: string,
  fallback?: string,
): Option<Value | undefined> {
  return {
    kind: 'single',
    says,
    value,
    ...(fallback !== undefined && { fallback }),
    read: ({ name, texts }) => {
      const text = texts[0] ?? fallback
      return text === undefined ? undefined : read(text, `--${name}`)
    },
  }
}

/** An option with a value that may be given more than once. */
export function repeatable<Value>(value: string, read: Read<Value>, says: string): Option<readonly Value[]> {
  return {
    kind: 'repeatable',
    says,
    value,
    read: ({ name, texts }) => texts.map((text) => read(text, `--${name}`)),
  }
}
