import { createHmac, randomUUID } from 'node:crypto'
import { HOST, PATH, SECRET, type Sender } from './contestants.js'

let count = 0

/** This many requests as sent over the wire, all different, signed now. Their bodies have about the same size. */
export function deliveriesOf(sender: Sender, length: number, path: string = PATH): readonly Buffer[] {
  const t = Math.floor(Date.now() / 1000)
  return Array.from({ length }, () => {
    count += 1
    const { body, headers } = SENDERS[sender](String(count).padStart(10, '0'), t)
    return requestOf(path, body, headers)
  })
}

interface Signed {
  readonly body: string
  readonly headers: Readonly<Record<string, string | number>>
}

const SENDERS: Readonly<Record<Sender, (id: string, t: number) => Signed>> = {
  tix(id, t) {
    const body = JSON.stringify({
      type: 'order.created',
      created_at: '2026-05-17T14:02:11Z',
      data: {
        order: { id: `ord_${id}`, total_cents: 8100, buyer_email: `buyer.${id}@example.com` },
        tickets: [1, 2, 3].map((n) => ({ id: `tik_${id}${n}`, tier: 'general admission' })),
      },
    })
    return { body, headers: { 'x-service-signature': `t=${t},v1=${hmac(`${t}.${body}`, 'hex')}` } }
  },
  /** A ping with its required fields. */
  github(id) {
    const body = JSON.stringify({
      zen: 'Keep it logically awesome.',
      hook_id: Number(id),
      hook: {
        type: 'Repository',
        id: Number(id),
        name: 'web',
        active: true,
        events: ['push'],
        config: { content_type: 'json', insecure_ssl: '0', url: `https://example.com/hooks/${id}` },
        updated_at: '2026-05-17T14:02:11Z',
        created_at: '2026-05-17T14:02:11Z',
      },
    })
    return {
      body,
      headers: {
        'x-github-event': 'ping',
        'x-github-delivery': randomUUID(),
        'x-hub-signature-256': `sha256=${hmac(body, 'hex')}`,
      },
    }
  },
  /** A benefit of the first type that the schema tries: the smallest event, and the fastest to check. */
  polar(id, t) {
    const body = JSON.stringify({
      type: 'benefit.created',
      timestamp: '2026-05-17T14:02:11Z',
      data: {
        id,
        created_at: '2026-05-17T14:02:11Z',
        modified_at: null,
        type: 'custom',
        description: 'general admission',
        selectable: true,
        deletable: true,
        is_deleted: false,
        organization_id: `org_${id}`,
        metadata: {},
        properties: { note: null },
      },
    })
    return {
      body,
      headers: {
        'webhook-id': id,
        'webhook-timestamp': t,
        'webhook-signature': `v1,${hmac(`${id}.${t}.${body}`, 'base64')}`,
      },
    }
  },
}

function hmac(content: string, encoding: 'hex' | 'base64'): string {
  return createHmac('sha256', SECRET).update(content).digest(encoding)
}

function requestOf(path: string, body: string, headers: Signed['headers']): Buffer {
  const lines = [
    `POST ${path} HTTP/1.1`,
    `host: ${HOST}`,
    'user-agent: webhooks/1.0',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
}
