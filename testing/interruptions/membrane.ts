import { isClass, isData, isLeaf, isObject, isPlain, isPlainPromise } from './data.js'
import { type FaultKind, timeout } from './faults.js'
import type { ProcessLife } from './process-life.js'

type AnyFunction = (...args: unknown[]) => unknown

/** The way by which a process reached an object of the world. */
interface Place {
  /** Such as `db.orders`, or `pool.connect()`. Empty for the world itself. */
  readonly name: string
  /** The last part of the name. */
  readonly key: PropertyKey
  /** Members of the world are shown whole, also lists and maps; of the results of calls only the parts that are not data. */
  readonly isMember: boolean
  /** Whether its calls are counted. */
  readonly isCounted: boolean
}

/** A call that the process makes. */
interface Making {
  readonly place: Place
  readonly self: unknown
  readonly args: readonly unknown[]
  make(self: unknown, args: unknown[]): unknown
}

/**
 * Shows the world to one process. Each call of the process comes through here: it is counted, made on the real object with real
 * parameters, and its result is shown in the same way. Functions that the process gives to the world are wrapped in the other direction.
 */
export class Membrane {
  private readonly life: ProcessLife
  private readonly shown = new WeakMap<object, object>()
  private readonly real = new WeakMap<object, object>()
  private readonly callbacks = new WeakMap<object, object>()
  private readonly ofCallbacks = new WeakMap<object, object>()

  constructor(life: ProcessLife) {
    this.life = life
  }

  show<World extends object>(world: World): World {
    return this.toProcess(world, { name: '', key: '', isMember: true, isCounted: true }) as World
  }

  /** A value of the world, as the process gets it. */
  private toProcess(value: unknown, place: Place): unknown {
    if (!isObject(value)) return value
    let shown = this.shown.get(value) ?? this.ofCallbacks.get(value)
    if (shown !== undefined) return shown
    if (isPlainPromise(value)) shown = this.follow(value, place)
    else if (place.isMember ? isLeaf(value) : isData(value)) return value
    else shown = this.proxyOf(value, place)
    this.shown.set(value, shown)
    return shown
  }

  /** A value of the process, as the world gets it. */
  private toWorld(value: unknown, place: Place, seen: Map<object, object> = new Map()): unknown {
    if (!isObject(value)) return value
    const real = this.real.get(value) ?? seen.get(value)
    if (real !== undefined) return real
    // A library recognises objects by their class, so it must stay the same.
    if (typeof value === 'function') return isClass(value) ? value : this.callbackOf(value, place)
    if (isData(value) || !(Array.isArray(value) || isPlain(value))) return value
    const copy = Array.isArray(value) ? [] : Object.create(Object.getPrototypeOf(value) as object | null)
    seen.set(value, copy)
    for (const [key, one] of Object.entries(value)) copy[key] = this.toWorld(one, place, seen)
    return copy as object
  }

  /** @param owner the object that a method was read from */
  private proxyOf(real: object, place: Place, owner?: object): object {
    const target = emptyLike(real)
    /** One for each object, because a method that many objects share has a different name for each. */
    const methods = new Map<PropertyKey, { readonly method: object; readonly shown: object }>()

    const get = (key: PropertyKey): unknown => {
      const value: unknown = Reflect.get(real, key, real)
      if (!isObject(value) || key === 'constructor' || key === 'prototype') return value
      if (typeof value !== 'function') return this.toProcess(value, memberOf(place, real, key))
      if (typeof real === 'function' && key in Function.prototype) return value
      if (typeof real !== 'function' && isAwaiting(key))
        return this.awaiting(real as PromiseLike<unknown>, key, place)
      const known = methods.get(key)
      if (known?.method === value) return known.shown
      const shown = this.proxyOf(value, memberOf(place, real, key), real)
      methods.set(key, { method: value, shown })
      return shown
    }

    const proxy: object = new Proxy(target, {
      get: (_, key) => get(key),
      set: (_, key, value) =>
        !this.life.reachesWorld || Reflect.set(real, key, this.toWorld(value, place), real),
      deleteProperty: (_, key) => !this.life.reachesWorld || Reflect.deleteProperty(real, key),
      defineProperty: (_, key, descriptor) =>
        !this.life.reachesWorld || Reflect.defineProperty(real, key, descriptor),
      has: (_, key) => Reflect.has(real, key),
      ownKeys: () => Reflect.ownKeys(real),
      getPrototypeOf: () => Reflect.getPrototypeOf(real),
      getOwnPropertyDescriptor(_, key) {
        const own = Reflect.getOwnPropertyDescriptor(real, key)
        if (own === undefined) return undefined
        const configurable = Reflect.getOwnPropertyDescriptor(target, key)?.configurable !== false
        return { value: get(key), writable: true, enumerable: own.enumerable === true, configurable }
      },
      apply: (_, self, args) =>
        this.call({
          place,
          // A proxy of the process's own around ours is taken for the owner.
          self: this.real.get(self as object) ?? (isObject(self) ? (owner ?? self) : self),
          args,
          make: (on, given) => Reflect.apply(real as AnyFunction, on, given),
        }),
      construct: (_, args) =>
        this.call({
          place: { ...place, name: `new ${place.name}` },
          self: undefined,
          args,
          make: (__, given) => Reflect.construct(real as new () => object, given),
        }) as object,
    })
    this.real.set(proxy, real)
    return proxy
  }

  private call(making: Making): unknown {
    const { place, self, args, make } = making
    const { life } = this
    if (!life.reachesWorld) return life.nowhere()
    const counted = place.isCounted ? life.begin(place.name, self) : undefined
    if (counted?.kind === 'dies before') return life.waits ? life.withhold() : this.die()
    if (counted?.kind === 'rejects without effect') return Promise.reject(timeout(place.name))
    const given = resultOf(place)
    let result: unknown
    try {
      result = life.outside(() =>
        make(
          self,
          args.map((one) => this.toWorld(one, given)),
        ),
      )
    } catch (error) {
      if (!life.reachesWorld) return life.nowhere()
      if (counted?.kind === 'dies after') return this.die()
      throw error
    }
    if (isObject(result) && isPlainPromise(result)) {
      if (counted !== undefined) counted.call.isAsync = true
      return this.follow(result, given, making, counted?.kind)
    }
    life.returned(self, place.key, args, result)
    if (!life.reachesWorld) return life.nowhere()
    if (counted?.kind === 'dies after') return this.die()
    return this.toProcess(result, given)
  }

  /** The promise that the process gets: it never settles once the process is dead. */
  private follow(
    promise: Promise<unknown>,
    place: Place,
    making?: Making,
    kind?: FaultKind,
  ): Promise<unknown> {
    const { life } = this
    life.awaits(promise)
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        if (!life.reachesWorld) return
        if (kind === 'dies after') this.die()
        else if (kind === 'rejects after its effect') reject(timeout(making?.place.name ?? ''))
        else settle()
      }
      promise.then(
        (value) => {
          if (making !== undefined) life.returned(making.self, making.place.key, making.args, value)
          end(() => resolve(this.toProcess(value, place)))
        },
        (error) => end(() => reject(error)),
      )
    })
  }

  private die(): never {
    this.life.die()
    return this.life.nowhere()
  }

  /** A method of a lazy statement, which is sent when it is awaited: that is the call. */
  private awaiting(lazy: PromiseLike<unknown>, key: Awaiting, place: Place): AnyFunction {
    const send = (): Promise<unknown> =>
      this.call({
        place: { ...place, name: `await ${place.name}`, key },
        self: lazy,
        args: [],
        make: () => new Promise((resolve, reject) => void lazy.then(resolve, reject)),
      }) as Promise<unknown>
    return (...reactions) => {
      const sent = send()
      return Reflect.apply(sent[key] as AnyFunction, sent, reactions)
    }
  }

  /** A function of the process, as the world gets it: it is not called once the process is dead. */
  private callbackOf(callback: object, place: Place): object {
    const { life } = this
    const known = this.callbacks.get(callback)
    if (known !== undefined) return known
    const wrapped: object = new Proxy(callback as AnyFunction, {
      apply: (target, self, args) => {
        for (const one of args) life.given(one)
        if (!life.reachesWorld) return life.endCallback()
        const shown = args.map((one) => this.toProcess(one, place))
        let result: unknown
        try {
          result = life.inside(() => Reflect.apply(target, this.toProcess(self, place), shown))
        } catch (error) {
          if (!life.reachesWorld) return life.endCallback()
          throw error
        }
        if (!life.reachesWorld) return life.endCallback()
        if (!(isObject(result) && isPlainPromise(result))) return this.toWorld(result, place)
        return life.untilDeath(result.then((value) => this.toWorld(value, place)))
      },
    })
    this.callbacks.set(callback, wrapped)
    this.ofCallbacks.set(wrapped, callback)
    return wrapped
  }
}

/** A proxy cannot show the members of a frozen object in another form than they have, so it has an empty target. */
function emptyLike(real: object): object {
  if (Array.isArray(real)) return []
  if (typeof real !== 'function') return {}
  return Object.hasOwn(real, 'prototype') ? function empty() {} : () => {}
}

type Awaiting = 'then' | 'catch' | 'finally'

function isAwaiting(key: PropertyKey): key is Awaiting {
  return key === 'then' || key === 'catch' || key === 'finally'
}

function memberOf({ name, isMember, isCounted }: Place, owner: object, key: PropertyKey): Place {
  const isSymbol = typeof key === 'symbol'
  const path = isSymbol ? name : `${name}${name === '' ? '' : '.'}${String(key)}`
  return { name: path, key, isMember, isCounted: isCounted && !isQuiet(owner, key) }
}

/** Iterating over a list makes no calls of the outside world; iterating over a cursor does. */
function resultOf({ name, key }: Place): Place {
  return { name: `${name}()`, key: '', isMember: false, isCounted: key !== Symbol.iterator }
}

const LISTENING = new Set<PropertyKey>(
  'on once off addListener removeListener removeAllListeners prependListener addEventListener removeEventListener setMaxListeners listenerCount'.split(
    ' ',
  ),
)

/** Whether a method does nothing outside the process: it describes the object, iterates over it, or adds a listener to it. */
function isQuiet(owner: object, key: PropertyKey): boolean {
  if (typeof key === 'symbol') return key !== Symbol.asyncDispose && key !== Symbol.dispose
  return key in Object.prototype || key === 'toJSON' || (LISTENING.has(key) && isEmitter(owner))
}

function isEmitter(owner: object): boolean {
  return ['emit', 'dispatchEvent'].some((name) => name in owner)
}
