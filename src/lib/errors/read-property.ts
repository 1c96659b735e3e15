/** A property of anything thrown, through its prototypes. Reading a foreign error may throw; then it is undefined. */
export function readProperty(holder: unknown, name: string): unknown {
  try {
    return (holder as Readonly<Record<string, unknown>> | null | undefined)?.[name]
  } catch {
    return undefined
  }
}
