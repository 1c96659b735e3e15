import type { AttemptView, DeliveryView, EndpointView } from '../data/views.js'
import { endOf, span } from '../data/words.js'
import { Scrolls } from '../parts/scrolls.js'
import { Shown } from '../parts/shown.js'
import { useLoaded } from '../parts/use-loaded.js'
import { hmac, prefixOf, readSignature, type SignedContent } from './hmac.js'

const SHOWN_CHARACTERS = 600

interface SignatureProps {
  readonly delivery: DeliveryView
  readonly attempt: AttemptView
  readonly endpoint: EndpointView | undefined
  readonly assumed: SignedContent
}

/** A secret of the endpoint, and what it gives for what was sent. */
interface Recomputed {
  readonly name: string
  readonly digest: string | undefined
}

/** The signed content, and the secret of each signature. */
export function Signature({ delivery, attempt, endpoint, assumed }: SignatureProps) {
  const body = attempt.request.body ?? delivery.body
  const { value, t, signatures } = readSignature(attempt.request.headers)
  const secrets = endpoint?.secrets ?? []
  const content = prefixOf(t ?? '', assumed) + body
  const recomputed =
    useLoaded(
      () =>
        Promise.all(
          secrets.map(
            async (secret, index): Promise<Recomputed> => ({
              name: `${secrets.length === 1 ? 'secret' : index === 0 ? 'new secret' : 'old secret'} ${endOf(secret)}`,
              digest: await hmac(secret, content),
            }),
          ),
        ),
      [content, secrets.join('\n')],
    ) ?? []
  return (
    <section aria-label="Signature">
      <h3>Signature</h3>
      {value === undefined ? (
        <p>
          The request had no <code>x-service-signature</code>.
        </p>
      ) : (
        <p class="header-value">
          <code>x-service-signature:</code> <Shown text={value} />
        </p>
      )}
      <h4>Signed content</h4>
      <Content t={t} body={body} assumed={assumed} />
      {t !== undefined && (
        <p>
          <code class="part-t">t</code> is {timeOf(t)}: {ageOf(t, attempt)}.
        </p>
      )}
      <h4>HMAC-SHA256, recomputed here</h4>
      {endpoint === undefined && <p class="dim">The endpoint was removed, and its secret with it.</p>}
      <ul class="digests">
        {recomputed.map(({ name, digest }) => (
          <li key={name}>
            <span>{name}</span>
            {digest === undefined ? (
              <span class="dim">Not available over plain HTTP from another machine.</span>
            ) : (
              <>
                <code>{digest}</code> <Matches digest={digest} signatures={signatures} />
              </>
            )}
          </li>
        ))}
      </ul>
      {recomputed.some(({ digest }) => signatures.includes(digest ?? '')) &&
        signatures
          .map((signature, index) => ({ signature, index }))
          .filter(({ signature }) =>
            recomputed.every(({ digest }) => digest !== undefined && digest !== signature),
          )
          .map(({ index }) => (
            <p key={index} class="bad">
              {nameOf(index, signatures)} matches none of the endpoint’s current secrets.
            </p>
          ))}
      {attempt.request.inexact && <p class="dim">The exact body is not kept, so its HMAC differs here.</p>}
    </section>
  )
}

function Content({ t, body, assumed }: { t: string | undefined; body: string; assumed: SignedContent }) {
  const cut = body.length > SHOWN_CHARACTERS
  return (
    <Scrolls as="pre" class="signed" label="Signed content">
      {assumed !== 'body' && <span class="part-t">{t ?? 'no t'}</span>}
      {assumed === 'dot' && <span class="part-dot">.</span>}
      <span class="part-body">
        <Shown text={cut ? body.slice(0, SHOWN_CHARACTERS) : body} />
        {cut && ` … ${(body.length - SHOWN_CHARACTERS).toLocaleString('en')} more characters`}
      </span>
    </Scrolls>
  )
}

function Matches({ digest, signatures }: { digest: string; signatures: readonly string[] }) {
  const index = signatures.indexOf(digest)
  if (index < 0) return <span class="bad">matches no v1</span>
  return <span class="good">= {nameOf(index, signatures)}</span>
}

function nameOf(index: number, signatures: readonly string[]): string {
  return signatures.length === 1 ? 'v1' : `v1 number ${index + 1} of ${signatures.length}`
}

function timeOf(t: string): string {
  const date = new Date(Number(t) * 1000)
  return Number.isNaN(date.getTime())
    ? 'not a timestamp'
    : `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** The signature has the real time, unless the sandbox signs by the virtual one. */
function ageOf(t: string, { real_time, virtual_time }: AttemptView): string {
  const ages = [real_time, virtual_time].map((at) => Date.parse(at) - Number(t) * 1000)
  const [age = 0] = ages.sort((a, b) => Math.abs(a) - Math.abs(b))
  if (Number.isNaN(age)) return 'of no age'
  if (age < -1000) return `${span(age)} in the future when it was sent`
  return age < 1000 ? 'it was signed when it was sent' : `${span(age)} old when it was sent`
}
