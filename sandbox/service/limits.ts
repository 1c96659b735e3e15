/** The largest seed. */
export const MAX_SEED = 0x7fff_ffff

/** The longest time that an endpoint may be given to answer. */
export const MAX_TIMEOUT_SECONDS = 3600
