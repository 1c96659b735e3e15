import { gunzipSync } from 'node:zlib'
import type { BodyReader, WebhookOptions } from 'tix-webhooks'
import { type AdapterFault, PlainAdapter, readAs, readAsText } from './plain-adapter.js'

const typeOf = ({ headers }: Request): string => headers.get('content-type') ?? ''
const nothing = async (): Promise<Uint8Array> => new Uint8Array()

/** Hands on nothing of a body whose type is not to its liking, as body parsers do. */
function parsing(takes: (type: string) => boolean): AdapterFault['Adapter'] {
  return class extends PlainAdapter {
    override bodyOf(request: Request): BodyReader {
      return takes(typeOf(request)) ? super.bodyOf(request) : nothing
    }
  }
}

/** Takes so many bytes at most, whatever the receiver allows. */
function limited(bytes: number): AdapterFault['Adapter'] {
  return class extends PlainAdapter {
    override optionsOf(options: WebhookOptions): WebhookOptions {
      return { ...options, maxBodyBytes: Math.min(bytes, options.maxBodyBytes ?? bytes) }
    }
  }
}

/** Faults in how the bytes are handed on. */
export const FAULTY_BODIES: readonly AdapterFault[] = [
  {
    fault: 'serializes the body again after parsing it',
    seenBy: ['body-spacing', 're-serialised-body', 'content-type-unknown'],
    Adapter: class extends PlainAdapter {
      override bodyOf(request: Request): BodyReader {
        return readAsText(request, (text) => JSON.stringify(JSON.parse(text)))
      }
    },
  },
  {
    fault: 'decodes the body as text',
    seenBy: ['body-decoded', 'body-bytes', 'body-mark'],
    Adapter: class extends PlainAdapter {
      override bodyOf(request: Request): BodyReader {
        return readAsText(request)
      }
    },
  },
  {
    fault: 'takes off a byte order mark',
    seenBy: ['body-mark', 'body-mark-unsigned'],
    Adapter: class extends PlainAdapter {
      override bodyOf(request: Request): BodyReader {
        return readAs(request, (bytes) => (bytes[0] === 0xef ? bytes.subarray(3) : bytes))
      }
    },
  },
  {
    fault: 'trims the body',
    seenBy: ['body-spacing', 'tampered-byte'],
    Adapter: class extends PlainAdapter {
      override bodyOf(request: Request): BodyReader {
        return readAs(request, (bytes) => Buffer.from(Buffer.from(bytes).toString('latin1').trim(), 'latin1'))
      }
    },
  },
  {
    fault: 'normalises text',
    seenBy: ['body-text'],
    Adapter: class extends PlainAdapter {
      override bodyOf(request: Request): BodyReader {
        return readAsText(request, (text) => text.normalize())
      }
    },
  },
  {
    fault: 'parses the body before, and refuses names that could be an attack on a prototype',
    seenBy: ['body-names'],
    Adapter: class extends PlainAdapter {
      override bodyOf(request: Request): BodyReader {
        return readAsText(request, (text) => (text.includes('__proto__') ? '' : text))
      }
    },
  },
  {
    fault: 'decodes the body by the charset of its type',
    seenBy: ['content-type-text', 'content-type-unknown'],
    Adapter: class extends PlainAdapter {
      override bodyOf(request: Request): BodyReader {
        const charset = typeOf(request).split('charset=')[1]
        if (charset === undefined) return super.bodyOf(request)
        return readAs(request, (bytes) => new TextEncoder().encode(new TextDecoder(charset).decode(bytes)))
      }
    },
  },
  {
    fault: 'takes JSON alone',
    seenBy: ['content-type-text', 'content-type-form', 'content-type-binary', 'content-type-nonsense'],
    Adapter: parsing((type) => type.includes('json')),
  },
  {
    fault: 'takes no body whose type is missing',
    seenBy: ['content-type-none'],
    Adapter: parsing((type) => type !== ''),
  },
  {
    fault: 'leaves forms in parts to another parser',
    seenBy: ['content-type-multipart'],
    Adapter: parsing((type) => !type.startsWith('multipart/')),
  },
  {
    fault: 'inflates the body',
    seenBy: ['encoding-kept'],
    Adapter: class extends PlainAdapter {
      override bodyOf(request: Request): BodyReader {
        if (this.encodingOf(request) !== 'gzip') return super.bodyOf(request)
        return readAs(request, (bytes) => gunzipSync(bytes))
      }
    },
  },
  {
    fault: 'takes no body over 100 KB, as a parser before it does',
    seenBy: ['size-large', 'size-largest'],
    Adapter: limited(102_400),
  },
  {
    fault: 'takes a megabyte for 1,000,000 bytes',
    seenBy: ['size-largest'],
    Adapter: limited(1_000_000),
  },
  { fault: 'has a limit of its own', seenBy: ['size-raised'], Adapter: limited(1_048_576) },
  {
    fault: 'swallows what is over 64 KiB',
    seenBy: ['size-large'],
    Adapter: class extends PlainAdapter {
      override bodyOf(request: Request): BodyReader {
        return readAs(request, (bytes) => bytes.subarray(0, 65_536))
      }
    },
  },
  {
    fault: 'ignores maxBodyBytes',
    seenBy: ['size-limit', 'size-bytes', 'size-too-large'],
    Adapter: class extends PlainAdapter {
      override optionsOf(options: WebhookOptions): WebhookOptions {
        return { ...options, maxBodyBytes: 1e9 }
      }
    },
  },
  {
    fault: 'cuts off what is over the limit',
    seenBy: ['size-too-large', 'size-limit'],
    Adapter: class extends PlainAdapter {
      override bodyOf(request: Request): BodyReader {
        const read = super.bodyOf(request)
        return async (maxBytes) => (await read(1e9)).subarray(0, maxBytes)
      }
    },
  },
  {
    fault: 'counts characters',
    seenBy: ['size-bytes'],
    Adapter: class extends PlainAdapter {
      override optionsOf(options: WebhookOptions): WebhookOptions {
        return { ...options, maxBodyBytes: 2 * (options.maxBodyBytes ?? 1_048_576) }
      }

      override bodyOf(request: Request): BodyReader {
        const read = super.bodyOf(request)
        return async (twice) => {
          const bytes = await read(twice)
          if (new TextDecoder().decode(bytes).length * 2 <= twice) return bytes
          throw Object.assign(new Error('too long'), { code: 'too_large' })
        }
      }
    },
  },
  {
    fault: 'takes an empty body for none',
    seenBy: ['size-small', 'empty-body'],
    Adapter: class extends PlainAdapter {
      override async handle(request: Request): Promise<Response> {
        const { size } = await request.clone().blob()
        return size === 0 ? new Response('no body', { status: 400 }) : super.handle(request)
      }
    },
  },
]
