import { randomBytes, randomInt } from 'node:crypto'
import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { xoroshiro128plus, xoroshiro128plusFromState } from 'pure-rand/generator/xoroshiro128plus'
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const ID_LENGTH = 20
const MAX_INT = 0x7fff_ffff
/** The first numbers of small seeds are nearly the same. */
const WARM_UP = 16

/**
 * A generator of ids and jitter. With a seed, they are the same in each run. Without one, it starts with 128 bits of the system's
 * entropy, so that no two generators return the same ids, whatever state was saved or restored before.
 */
export class Random {
  readonly #isSeeded: boolean
  #generator: RandomGenerator

  /**
   * @param seed a whole number. Default: none
   * @throws RangeError if the seed is not a whole number
   */
  constructor(seed?: number) {
    if (seed !== undefined && !Number.isSafeInteger(seed)) {
      throw new RangeError(`The seed must be a whole number, such as 42, not ${seed}.`)
    }
    this.#isSeeded = seed !== undefined
    this.#generator = seed === undefined ? xoroshiro128plusFromState(entropy()) : xoroshiro128plus(seed)
    for (let count = 0; count < WARM_UP; count++) this.#generator.next()
  }

  /** A number from 0, and below 1. */
  fraction(): number {
    return uniformInt(this.#generator, 0, MAX_INT - 1) / MAX_INT
  }

  /** A seed for another one. */
  seed(): number {
    return uniformInt(this.#generator, 0, MAX_INT)
  }

  /** A new generator, independent of this one from here on. */
  fork(): Random {
    return new Random(this.#isSeeded ? this.seed() : undefined)
  }

  /** An id, such as `evt_4eC39HqLyjWDarjtT1zd`. */
  id(prefix: string): string {
    return prefix + this.characters(ID_LENGTH)
  }

  /** Letters and digits. */
  characters(length: number): string {
    return charactersOf(length, () => uniformInt(this.#generator, 0, BASE62.length - 1))
  }

  /** A string of letters and digits. Without a seed it cannot be guessed, not even from other ids. */
  secretCharacters(length: number): string {
    return this.#isSeeded ? this.characters(length) : charactersOf(length, () => randomInt(BASE62.length))
  }

  /** The state of a seeded generator, for `restore`. */
  get state(): readonly number[] {
    return [...this.#generator.getState()]
  }

  /**
   * Goes on from a state, with a seed; without one it stays as it is, since ids that were given after the state was taken would be
   * given again.
   *
   * @param state what `state` gave
   * @throws TypeError if it is something else
   */
  restore(state: readonly number[]): void {
    const isState =
      Array.isArray(state) && state.length === 4 && state.every((word) => Number.isInteger(word))
    if (!isState || state.every((word) => word === 0)) {
      throw new TypeError(
        'That is not the state of a generator: it must be four whole numbers, as `state` returned them.',
      )
    }
    if (this.#isSeeded) this.#generator = xoroshiro128plusFromState(state)
  }
}

/** A state of 128 bits; one of zeros alone would give nothing else. */
function entropy(): readonly number[] {
  const words = [...new Int32Array(Uint8Array.from(randomBytes(16)).buffer)]
  return words.some((word) => word !== 0) ? words : entropy()
}

function charactersOf(length: number, draw: () => number): string {
  let text = ''
  while (text.length < length) text += BASE62[draw()]
  return text
}
