import { useVirtual } from '../data/virtual-time.js'
import { age, moment } from '../data/words.js'

/** A time of the service, in UTC. */
export function Moment({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={at}>
      {moment(at)}
    </time>
  )
}

/** How long ago it was, in virtual time. */
export function Age({ at }: { readonly at: string }) {
  const says = useVirtual((nowMs) => age(nowMs - Date.parse(at)))
  return (
    <time dateTime={at} title={at}>
      {says}
    </time>
  )
}
