import { type SignatureOptions, verifySignature } from 'tix-webhooks'

/** A signature of a scheme that is not v1, such as v0. */
export interface OtherScheme {
  readonly name: string
  readonly signature: string
}

/** The signatures of other schemes in a header. */
export function otherSchemes(value: string): readonly OtherScheme[] {
  return [...value.matchAll(/(?:^|[\s,;])(v\d+)=([^\s,;]+)/g)]
    .map(([, name = '', signature = '']) => ({ name, signature }))
    .filter(({ name }) => name !== 'v1')
}

/** The rest of the delivery, to verify such a signature as if it were a v1. */
export interface AsV1 {
  readonly secret: string
  readonly body: Uint8Array
  readonly t: string
  readonly signature: SignatureOptions
}

/** Names each unsupported scheme in a header whose v1 is missing or does not match. */
export async function sayOtherSchemes(
  schemes: readonly OtherScheme[],
  { hasV1, ...delivery }: AsV1 & { readonly hasV1: boolean },
): Promise<string[]> {
  return Promise.all(
    schemes.map(async (scheme) => {
      if (await isRight(scheme, delivery)) return right(scheme)
      return hasV1 ? ignored(scheme) : alone(scheme)
    }),
  )
}

/** Names a scheme beside a v1 that counts. */
export function ignored({ name }: OtherScheme): string {
  return `The header has ${name}= too, which is ignored: only v1 is accepted.`
}

const right = ({ name }: OtherScheme): string =>
  `The signature in ${name}= is right, but ${onlyV1(name)}. Do not accept it: save a delivery whose header has a v1 that is right.`

const alone = ({ name }: OtherScheme): string =>
  `The header has ${name}= and no v1, and ${onlyV1(name)}. Save a delivery whose header has v1.`

const onlyV1 = (name: string): string =>
  `only v1 is accepted${name === 'v0' ? ': v0 is what some services send with test events' : ''}`

async function isRight(
  { signature: given }: OtherScheme,
  { secret, body, t, signature }: AsV1,
): Promise<boolean> {
  const options = { secret, signature, toleranceSeconds: Number.MAX_SAFE_INTEGER }
  return verifySignature(body, `t=${t},v1=${given}`, options).then(
    () => true,
    () => false,
  )
}
