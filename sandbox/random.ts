import { randomInt } from 'node:crypto'
import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { xoroshiro128plus, xoroshiro128plusFromState } from 'pure-rand/generator/xoroshiro128plus'
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const ID_LENGTH = 20
const MAX_INT = 0x7fff_ffff
/** The first numbers of small seeds are nearly the same. */
const WARM_UP = 16

/** Where the ids and the jitter come from. The same seed gives the same ones. */
export class Random {
  #generator: RandomGenerator

  /**
   * @param seed a whole number. Default: another one each time
   * @throws RangeError when it is none
   */
  constructor(seed: number = randomInt(MAX_INT)) {
    if (!Number.isSafeInteger(seed)) {
      throw new RangeError(`The seed must be a whole number, such as 42, not ${seed}.`)
    }
    this.#generator = xoroshiro128plus(seed)
    for (let count = 0; count < WARM_UP; count++) this.#generator.next()
  }

  /** From 0 up to, and without, 1. */
  fraction(): number {
    return uniformInt(this.#generator, 0, MAX_INT - 1) / MAX_INT
  }

  /** A seed for another one. */
  seed(): number {
    return uniformInt(this.#generator, 0, MAX_INT)
  }

  /** One that goes its own way from here: how much is drawn from it changes nothing for others. */
  fork(): Random {
    return new Random(this.seed())
  }

  /** An id, such as `evt_4eC39HqLyjWDarjtT1zd`. */
  id(prefix: string): string {
    return prefix + this.characters(ID_LENGTH)
  }

  /** So many letters and digits. */
  characters(length: number): string {
    let text = ''
    while (text.length < length) text += BASE62[uniformInt(this.#generator, 0, BASE62.length - 1)]
    return text
  }

  /** What a generator goes on from: after a restart it must not give the same ids again. */
  get state(): readonly number[] {
    return [...this.#generator.getState()]
  }

  /**
   * @param state what `state` gave
   * @throws TypeError when it is something else
   */
  restore(state: readonly number[]): void {
    const isState =
      Array.isArray(state) && state.length === 4 && state.every((word) => Number.isInteger(word))
    if (!isState || state.every((word) => word === 0)) {
      throw new TypeError('That is no state of a generator: it is four whole numbers, as `state` gave them.')
    }
    this.#generator = xoroshiro128plusFromState(state)
  }
}
