import { createHash } from 'node:crypto'
import type { SignatureOptions } from 'tix-webhooks'
import { makeScenario, SCENARIOS, type ScenarioInfo } from 'tix-webhooks/testing'
import type { Chaos, ChaosRequest } from '../engine/dispatcher.js'
import type { Message } from '../engine/record/records.js'
import { isWithin } from '../lib/numbers.js'
import { Random } from '../lib/random.js'

/** For each scenario, the probability that it is played before an attempt: from 0 to 1. */
export type ChaosProbabilities = Readonly<Record<string, number>>

/** The engine's own signing: a scenario that is signed differently proves nothing, so every part is required. */
export interface ChaosParts {
  readonly random: Random
  /** How the service signs. Undefined: by the field's defaults. */
  readonly signature: SignatureOptions | undefined
  /** The time of `t`, in milliseconds. Undefined: the real time. */
  readonly signingNow: (() => number) | undefined
}

/** Genuine scenarios that send the message's own bytes. Other bytes would be handled as an event that never happened. */
const SAME_BYTES: readonly string[] = ['valid', 'two-v1', 'chunked', 'tiny-chunks', 'slow-body', 'duplicate']

/** The scenarios that can be played beside a message: the others are for `trigger`. */
export const CHAOTIC: readonly string[] = SCENARIOS.filter(isChaotic).map(({ name }) => name)

function isChaotic({ name, verdict }: ScenarioInfo): boolean {
  return verdict === 'forged' || verdict === 'unusable' || SAME_BYTES.includes(name)
}

/**
 * Checks what was asked for.
 *
 * @throws TypeError that names the scenario, and says what there is
 */
export function checkChaos(probabilities: ChaosProbabilities): ChaosProbabilities {
  if (typeof probabilities !== 'object' || probabilities === null || Array.isArray(probabilities)) {
    throw new TypeError('chaos must be an object of scenarios and probabilities, such as { duplicate: 0.1 }.')
  }
  for (const [name, probability] of Object.entries(probabilities)) {
    if (!CHAOTIC.includes(name)) throw new TypeError(`${whyNot(name)} Chaos can be ${CHAOTIC.join(', ')}.`)
    if (!isWithin(probability, 0, 1)) {
      throw new TypeError(`chaos: the probability of ${name} must be a number from 0 to 1, such as 0.1.`)
    }
  }
  return probabilities
}

/**
 * Reads probabilities as they are written on a command line.
 *
 * @param text such as `duplicate=0.1,stale=0.05`
 * @throws TypeError that says what is wrong
 */
export function readChaos(text: string): ChaosProbabilities {
  const pairs = text.split(',').map((item): [string, number] => {
    const [, name, probability = ''] = /^\s*([\w-]+)\s*=\s*(\d*\.?\d+)\s*$/.exec(item) ?? []
    if (name !== undefined) return [name, Number(probability)]
    throw new TypeError(
      `chaos: ${JSON.stringify(item)} is not of the form scenario=probability, such as duplicate=0.1.`,
    )
  })
  const names = pairs.map(([name]) => name)
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) throw new TypeError(`chaos: ${twice} is given twice.`)
  return checkChaos(Object.fromEntries(pairs))
}

/**
 * Makes the chaos of an engine: each scenario with its probability. Which scenario comes before which attempt
 * depends on the seed alone, and not on when endpoints answer.
 *
 * @throws TypeError if a probability is invalid
 */
export function chaos(probabilities: ChaosProbabilities, parts: ChaosParts): Chaos {
  checkChaos(probabilities)
  const names = CHAOTIC.filter((name) => Object.hasOwn(probabilities, name))
  const seed = parts.random.seed()
  // One for each delivery: deliveries are tried in no order. It goes when the message goes.
  const randoms = new WeakMap<Message, Map<string, Random>>()

  function randomOf(message: Message, endpointId: string): Random {
    const ofMessage = randoms.get(message) ?? new Map<string, Random>()
    randoms.set(message, ofMessage)
    const random = ofMessage.get(endpointId) ?? new Random(hashed(`${seed}/${message.id}/${endpointId}`))
    ofMessage.set(endpointId, random)
    return random
  }

  return async (message, { id, secrets }) => {
    const random = randomOf(message, id)
    const drawn = names.filter((name) => random.fraction() < (probabilities[name] ?? 0))
    const requests: ChaosRequest[] = []
    for (const scenario of drawn) {
      const { deliveries } = await makeScenario(scenario, {
        body: message.body,
        secret: secrets,
        now: parts.signingNow ?? Date.now,
        ...(parts.signature && { signature: parts.signature }),
      })
      for (const { body, headers, transport } of deliveries) {
        requests.push({ scenario, body, headers, transport })
      }
    }
    return requests
  }
}

function whyNot(name: string): string {
  if (!SCENARIOS.some((scenario) => scenario.name === name)) {
    return `There is no scenario ${JSON.stringify(name)}.`
  }
  switch (name) {
    case 'reordered':
      return 'reordered cannot be chaos, which holds back no delivery: trigger it, or leave out serial, so that no order is kept.'
    case 'tied':
      return 'tied cannot be chaos, which changes the time of no event: trigger it, or assume created-at: seconds.'
    case 'concurrent-burst':
      return 'concurrent-burst cannot be chaos, which sends one delivery after the other: trigger it, or use duplicate.'
    default:
      return `${name} cannot be chaos: its event never happened. Trigger it.`
  }
}

function hashed(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0)
}
