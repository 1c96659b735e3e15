import type { HandledRecords, IdempotencyStore, KeptFailures } from 'tix-webhooks'
import type { FailureHarness, InboxHarness } from 'tix-webhooks/testing'
import { afterAll, beforeAll, type describe } from 'vitest'
import type { OpenInbox, OpenStore } from '../proof-clients.js'
import type { Place } from '../proof-places.js'
import type { StoreBackend } from '../store-backend.js'
import { startProxy, type TcpProxy } from '../tcp-proxy.js'

/** One of our stores, with what the tests need to run on it. */
export interface OurStore {
  /** Its subpath, without the name of the package. */
  readonly entry: string
  /** Skipped if it has no server. */
  readonly describe: typeof describe | ReturnType<typeof describe.skipIf>
  /** The store, the failures and the inbox, over each client library. */
  readonly stores: readonly StoreKind[]
  readonly failures: readonly FailureKind[]
  readonly inboxes: readonly InboxKind[]
  /** Null if processes cannot share it over a network. */
  readonly proof: ProofServer | null
  /** The part of the random histories, rounds and events that it gets, if its commits take long. Default 1. */
  readonly share?: number
  /** Whether its records expire by themselves; otherwise it has `purge`. Default false. */
  readonly expires?: boolean
}

type HandledStore = IdempotencyStore & HandledRecords

/** A fresh backend, and how to close it. */
export interface OpenBackend extends StoreBackend<HandledStore> {
  close(): Promise<void>
}

export interface StoreKind {
  readonly name: string
  /** It sends what another kind sends: tests of the backend leave it out. */
  readonly isTwin?: boolean
  open(): Promise<OpenBackend>
}

export interface FailureBackend extends Required<FailureHarness> {
  create(): Promise<KeptFailures>
  close(): Promise<void>
}

export interface FailureKind {
  readonly name: string
  open(): Promise<FailureBackend>
}

interface InboxKind {
  readonly name: string
  /** The cases that its library does not pass, with the failure of each. */
  readonly fails?: Readonly<Record<string, string>>
  /** The members of the harness that it has no use for. */
  readonly lacks?: readonly string[]
  /** Prepares a database, in the body of a `describe`. Returns the harness for each test. */
  use(): () => InboxHarness<unknown>
}

/** A server on which apps in processes of their own share records. */
interface ProofServer {
  /** A new place on the server of the run. */
  openPlace(): Promise<Place>
  /** Each client's, by the name that apps are given. */
  readonly stores: Readonly<Record<string, OpenStore>>
  readonly inboxes: Readonly<Record<string, OpenInbox>>
  /** The clients for the tests that take long: of two that send the same statements, one. */
  readonly clients: readonly string[]
}

/** What is tested over a client library: its name, how to connect, and how to close a connection. */
interface Kind<Client> {
  readonly name: string
  connect(): Client | Promise<Client>
  end(client: Client): unknown
}

let count = 0

/** Connections that are closed together, and a name for their table or their prefix of keys. */
function placeOf<Client>({ connect, end }: Kind<Client>) {
  const open: Client[] = []
  return {
    place: `t${process.pid}_${Date.now().toString(36)}_${count++}`,
    async connect() {
      const client = await connect()
      open.push(client)
      return client
    },
    close: async () => void (await Promise.all(open.map(end))),
  }
}

/** A store over a library; every client of a backend is a connection of its own. */
export function storeKind<Client>(
  kind: Kind<Client>,
  storeOf: (client: Client, place: string) => HandledStore & { migrate?(): unknown },
  /** Moves the deadlines of all records of the place, as if that much time had passed on the server. */
  advance: (client: Client, place: string, ms: number) => Promise<unknown>,
): StoreKind {
  return {
    name: kind.name,
    async open() {
      const { place, connect, close } = placeOf(kind)
      const clock = await connect()
      await storeOf(clock, place).migrate?.()
      const create = async () => storeOf(await connect(), place)
      return {
        name: kind.name,
        create,
        createSecond: create,
        advance: async (ms) => void (await advance(clock, place, ms)),
        close,
      }
    },
  }
}

/** Failures over a library. */
export function failureKind<Client>(
  kind: Kind<Client>,
  failuresOf: (client: Client, table: string) => KeptFailures & { migrate(): unknown },
): FailureKind {
  return {
    name: kind.name,
    async open() {
      const { place, connect, close } = placeOf(kind)
      const create = async () => failuresOf(await connect(), place)
      const first = failuresOf(await connect(), place)
      await first.migrate()
      return { create, createSecond: create, purge: (options) => first.purge(options), close }
    },
  }
}

/** A proxy before a server of the run, for a `describe`. */
export function useProxy(url: () => string): () => TcpProxy {
  let proxy: TcpProxy
  beforeAll(async () => {
    const { hostname: host, port } = new URL(url())
    proxy = await startProxy({ host, port: Number(port) })
  })
  afterAll(() => proxy.close())
  return () => proxy
}
