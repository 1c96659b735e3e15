/** The points at which a child kills itself, as a power cut would. */
export const KILL_POINTS = [
  'in the handler',
  'before the effects',
  'after the effects',
  'before COMMIT',
  'after COMMIT',
  'after ctx.tx.commit',
] as const
export type KillPoint = (typeof KILL_POINTS)[number]

/** The task of a child process on a database file. */
export type ChildTask = { readonly driver: string; readonly file: string } & (
  | { readonly task: 'claim'; readonly token: string; readonly keys: readonly string[] }
  | { readonly task: 'migrate' }
  | { readonly task: 'hold'; readonly by: 'writing' | 'reading' }
  | {
      readonly task: 'deliver'
      readonly payload: object
      readonly killAt: KillPoint
      /** Keeps failures, and its handler throws if it fails. */
      readonly failures?: 'succeeds' | 'fails'
      /** SQL that the app runs before anything else. */
      readonly setup?: string
      /** How often the effect is written. Default 1. */
      readonly times?: number
    }
)

export interface ChildReply {
  readonly claimed?: readonly string[]
  readonly error?: string
}
