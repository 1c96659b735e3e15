/** @module-tag slow */
import { parseEvent } from 'tix-webhooks'
import { expect, test } from 'vitest'
import { madeUpEventToCut } from '../../../cli/send/made-up-events.js'
import { piecesOf } from '../../../engine/network/transport.js'

const KINDS = ['order.created', 'event.published', 'event.cancelled', 'event.rescheduled'] as const

test.each(KINDS)(
  'an event of %s is cut within a character, so that its pieces are no valid text',
  async (kind) => {
    for (let count = 0; count < 200; count++) {
      const body = madeUpEventToCut(kind)
      const text = piecesOf(Buffer.from(body))
        .map((piece) => Buffer.from(piece).toString())
        .join('')
      expect(text).not.toBe(body)
      expect(await parseEvent(body)).toMatchObject({ type: kind })
    }
  },
)
