import * as z from 'zod'

/** A JSON Schema, or an object of the description of the API. */
export type Json = Readonly<Record<string, unknown>>

const LOCAL = '"#/$defs/'
const COMPONENT = '"#/components/schemas/'

/** Writes schemas as JSON Schema for one document: those that have an id stand in it once, and are referred to. */
export class SchemaCollection {
  readonly #named = new Map<string, string>()

  /**
   * @param io whether it is what callers send (`input`: what has a default may be left out) or get
   * @throws Error if two schemas have the same id
   */
  add(schema: z.ZodType, io: 'input' | 'output'): Json {
    const text = JSON.stringify(z.toJSONSchema(schema, { io })).replaceAll(LOCAL, COMPONENT)
    const { $schema: _, $defs = {}, ...root } = JSON.parse(text) as Json
    for (const [id, definition] of Object.entries($defs as Json)) this.#name(id, JSON.stringify(definition))
    return root
  }

  /** The schemas that have an id, by that id. */
  named(): Json {
    return Object.fromEntries([...this.#named].sort().map(([id, text]) => [id, JSON.parse(text)]))
  }

  #name(id: string, text: string): void {
    if ((this.#named.get(id) ?? text) !== text) throw new Error(`Two schemas have the id ${id}.`)
    this.#named.set(id, text)
  }
}
