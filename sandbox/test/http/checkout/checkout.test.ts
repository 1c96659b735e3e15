import { describe, expect, test } from 'vitest'
import { apiFixture, BASE_URL, EVENT, LIVE_KEY } from '../../support/http-sandbox.js'

async function checkoutOf(changes: object = {}) {
  const sandbox = apiFixture()
  const event = await sandbox.create(changes)
  const path = `/e/${event.slug}`
  return {
    ...sandbox,
    event,
    publish: () => sandbox.act(event.id, 'publish'),
    look: () => sandbox.call('GET', path),
    buy: (form: Record<string, string>, headers: Record<string, string> = {}) =>
      sandbox.call('POST', path, { raw: new URLSearchParams(form), headers }),
    reload: async () => await sandbox.read(`/v2/events/${event.id}`),
  }
}

type Checkout = Awaited<ReturnType<typeof checkoutOf>>

test('[S2] [S8] [S9] [N50] the url of an event is a page with its tiers and a form to buy', async () => {
  const sandbox = await checkoutOf({ description_md: 'Bring *light*.' })
  await sandbox.publish()
  const { url } = await sandbox.reload()
  const page = await sandbox.call('GET', String(url))
  expect(url).toBe(`${BASE_URL}/e/${sandbox.event.slug}`)
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=UTF-8'])
  for (const text of [
    '<main>\n<h1>Night of lights</h1>',
    '2026-12-01T19:00:00+01:00',
    '<p>Bring <em>light</em>.</p>',
    'On sale.',
    '0 of 12 sold',
    '<form method="post">',
    `<option value="${sandbox.event.tickets[0]?.id}">standing, 25.00</option>`,
    `<option value="${sandbox.event.tickets[1]?.id}">seat, 40.00</option>`,
  ]) {
    expect(page.text).toContain(text)
  }
})

test('[S2] [S3] [N50] buying there is a sale, and sends its webhook', async () => {
  const sandbox = await checkoutOf()
  sandbox.service.engine.createEndpoint({ url: 'http://127.0.0.1:3000/', events: ['order.created'] })
  await sandbox.publish()
  const page = await sandbox.buy({ tier: sandbox.event.tickets[0]?.id ?? '', quantity: '2' })
  expect(page.status).toBe(200)
  expect(page.text).toMatch(/Sold: order ord_\w{20}, 50\.00 in all\.\s+Tickets: tik_\w{20}, tik_\w{20}\./)
  expect(page.text).toContain('2 of 12 sold')
  expect(await sandbox.reload()).toMatchObject({ sold: 2, gross_cents: 5000 })
  await sandbox.service.clock.idle()
  const bodies = sandbox.sent.map(({ body }) => JSON.parse(Buffer.from(body).toString()))
  expect(bodies).toMatchObject([{ type: 'order.created', data: { order: { total_cents: 5000 } } }])
})

test('[S2] a live event is sold there too', async () => {
  const sandbox = apiFixture()
  const body = { ...EVENT, tickets: [{ name: 'one', price_cents: 0, quantity: 1 }] }
  const answer = await sandbox.call('POST', '/v2/events', { key: LIVE_KEY, body })
  const { id, slug, tickets } = answer.json<{ id: string; slug: string; tickets: { id: string }[] }>()
  await sandbox.call('POST', `/v2/events/${id}/publish`, { key: LIVE_KEY })
  const raw = new URLSearchParams({ tier: tickets[0]?.id ?? '', quantity: '1' })
  const page = await sandbox.call('POST', `/e/${slug}`, { raw })
  expect(page.text).toMatch(/, free in all\..*Sold out\.<\/strong> 1 of 1 sold/s)
  expect(page.text).not.toContain('<form')
  expect(sandbox.service.accounts.live.counts().orders).toBe(1)
})

describe('what cannot be bought', () => {
  test('is not there, while it is a draft or unknown', async () => {
    const sandbox = await checkoutOf()
    for (const page of [await sandbox.look(), await sandbox.buy({}), await sandbox.call('GET', '/e/none')]) {
      expect(page.status).toBe(404)
      expect(page.text).toContain('There is no event here, or it is not published yet.')
      expect(page.text).not.toContain('Night of lights')
    }
  })

  test.each([
    ['This event is cancelled.', ({ act, event }: Checkout) => act(event.id, 'cancel')],
    ['This event is over.', ({ service }: Checkout) => service.clock.advanceBy(30 * 86_400_000)],
  ])('is shown without a form, and refused: %s', async (words, end) => {
    const sandbox = await checkoutOf()
    await sandbox.publish()
    await end(sandbox)
    const { text } = await sandbox.look()
    expect(text).toContain(words)
    expect(text).not.toContain('<form')
    const refused = await sandbox.buy({ tier: sandbox.event.tickets[0]?.id ?? '', quantity: '1' })
    expect(refused.status).toBe(409)
    expect(refused.text).toMatch(/role="alert">Not sold: .{10,}/)
  })

  test.each<[Record<string, string>, number]>([
    [{ tier: 'tkt_none', quantity: '1' }, 400],
    [{ tier: '1', quantity: '0' }, 400],
    [{ tier: '1', quantity: '1.5' }, 400],
    [{ tier: '1', quantity: '<b>' }, 400],
    [{ tier: '1', quantity: '3' }, 409],
  ])('is refused in words: %j', async (form, status) => {
    const sandbox = await checkoutOf()
    await sandbox.publish()
    const given = form.tier === '1' ? { ...form, tier: sandbox.event.tickets[1]?.id ?? '' } : form
    const page = await sandbox.buy(given)
    expect(page.status).toBe(status)
    expect(page.text).toMatch(/role="alert">Not sold: .{10,}/)
    expect(page.text).not.toContain('<b>')
    expect(await sandbox.reload()).toMatchObject({ sold: 0 })
  })
})

test('a page loads nothing but pictures, and runs nothing', async () => {
  const { headers, text } = await apiFixture().call('GET', '/e/none')
  const policy = headers.get('content-security-policy') ?? ''
  expect(policy).toMatch(
    /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'; img-src http: https:; form-action 'self'; base-uri 'none'$/,
  )
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('referrer-policy')).toBe('same-origin')
  const [, style = ''] = /<style>(.*)<\/style>/s.exec(text) ?? []
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(style))
  expect(policy).toContain(Buffer.from(digest).toString('base64'))
})

test('[N152] input is shown as text, and Markdown is rendered: nothing in either runs', async () => {
  const evil = `"><script>alert(1)</script><img src=x onerror='alert(2)'>`
  const sandbox = await checkoutOf({
    title: '5 < 6 & "quotes"',
    description_md: '**bold** [run](javascript:alert(1)) <script>alert(2)</script> ![x](data:text/html,y)',
    tickets: [{ name: evil, price_cents: 1, quantity: 1 }],
  })
  await sandbox.publish()
  const { text } = await sandbox.look()
  expect(text).toContain('<h1>5 &lt; 6 &amp; &quot;quotes&quot;</h1>')
  expect(text).toContain('<strong>bold</strong>')
  const refused = await sandbox.buy({ tier: evil, quantity: evil })
  for (const shown of [text, refused.text])
    expect(shown).not.toMatch(/javascript:|<script|<img src=x|data:text/)
})

test('[S7] [N152] the page has the image, the venue, and the doors in the time of the venue alone', async () => {
  const sandbox = await checkoutOf({
    image: 'https://pictures.example/a.png?b=1&c=2',
    venue: { name: 'Riverside & <Yard', city: 'New York', timezone: 'America/New_York' },
  })
  await sandbox.publish()
  const { text } = await sandbox.look()
  expect(text).toMatch(/<img src="https:\/\/pictures\.example\/a\.png\?b=1&amp;c=2" alt="">/)
  expect(text).toContain('Riverside &amp; &lt;Yard, New York')
  const shown = text.replaceAll(/<[^>]*>/g, '')
  expect(shown).toMatch(/Doors Tuesday,? 1 December 2026\D+13:00 \(America\/New_York\), until Tuesday/)
  expect(shown).not.toMatch(/19:00|18:00/)
})

test('[N153] a script opens the page of an event in a frame', async () => {
  const { headers, text } = await apiFixture().call('GET', '/embed.js')
  expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  const added: { src: string }[] = []
  const embed = (event: string) => {
    const script = {
      dataset: { event },
      src: `${BASE_URL}/embed.js`,
      after: (frame: { src: string }) => added.push(frame),
    }
    const document = { currentScript: script, createElement: () => ({ style: {} }) }
    new Function('document', text)(document)
  }
  embed('night-of-lights-abc')
  embed(`${BASE_URL}/e/night-of-lights-abc`)
  expect(added.map(({ src }) => src)).toEqual(Array(2).fill(`${BASE_URL}/e/night-of-lights-abc`))
  expect(() => embed('https://evil.example/e/x')).toThrow('data-event must be an event of')
})

test('[S34] [N154] the wallet page shows the ticket until it is refunded, and refuses an unknown one', async () => {
  const sandbox = apiFixture()
  const { order, tickets } = (await sandbox.order()).json<{
    order: { event_id: string }
    tickets: { id: string; scan_token: string; wallet_pass_url: string }[]
  }>()
  const [ticket] = tickets
  const look = async () => (await sandbox.call('GET', ticket?.wallet_pass_url ?? '')).text
  expect(await look()).toMatch(/<main>\n<h1>[\s\S]+<\/main>/)
  for (const part of ['<h1>Night of lights</h1>', 'Old mill', 'seat', ticket?.id, ticket?.scan_token]) {
    expect(await look()).toContain(part)
  }
  await sandbox.act(order.event_id, 'cancel')
  expect(await look()).toContain('This ticket was refunded.')
  expect(await look()).not.toContain(ticket?.scan_token)
  const unknown = await sandbox.call('GET', '/wallet/tik_unknown')
  expect(unknown.status).toBe(404)
  expect(unknown.text).toContain('There is no such ticket')
})
