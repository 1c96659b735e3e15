/** The account of a key: test keys and live keys see separate data. */
export type Mode = 'test' | 'live'
