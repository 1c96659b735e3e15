/** Whose data: what a test key sees, and what a live key sees, are two accounts that know nothing of each other. */
export type Mode = 'test' | 'live'
