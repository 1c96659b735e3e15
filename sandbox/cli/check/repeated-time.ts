import { type Secrets, type SignatureOptions, verifySignature } from 'tix-webhooks'

/** How a receiver verifies. */
export interface Verifying {
  readonly secret: Secrets
  readonly signature?: SignatureOptions
  readonly toleranceSeconds?: number
}

interface Signed {
  readonly header: string | undefined
  readonly body: string
}

/**
 * Whether a header has several `t`, and is genuine with one of them alone: only who has the secret can make one, or who saw a delivery
 * that is as fresh.
 */
export async function repeatsTime({ header = '', body }: Signed, verifying: Verifying): Promise<boolean> {
  const items = header.split(',')
  const times = items.filter(isTime)
  if (times.length < 2) return false
  const others = items.filter((item) => !isTime(item))
  const alone = times.map((time) => isGenuine({ header: [time, ...others].join(','), body }, verifying))
  return (await Promise.all(alone)).includes(true)
}

const isTime = (item: string): boolean => item.startsWith('t=')

const isGenuine = ({ header, body }: Signed, verifying: Verifying): Promise<boolean> =>
  verifySignature(body, header, verifying).then(
    () => true,
    () => false,
  )
