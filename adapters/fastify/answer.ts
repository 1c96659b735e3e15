import type { FastifyReply } from 'fastify'
import { answerTo, type Outcome } from '../../src/index.js'
import { removePresetHeaders, sendAnswer } from '../node.js'

/** The one answer on a reply. */
export interface Answer {
  /** Whether other code has begun to answer. */
  isSent(): boolean
  /** Sends the answer to an outcome, unless other code has. */
  send(outcome: Outcome): void
}

/** Takes a reply over at the start of a delivery. */
export function answerOn(reply: FastifyReply): Answer {
  const { raw } = reply
  const wasBegun = raw.headersSent
  // An error of a handler that writes after our answer.
  raw.on('error', () => {})
  // While an asynchronous onSend hook of another answer runs, Fastify does not know of that answer. Sending ours too would end Fastify 4.
  const send = reply.send.bind(reply)
  let isTaken = false
  reply.send = (body) => {
    isTaken = true
    return send(body)
  }
  const isSent = (): boolean => isTaken || reply.sent || raw.headersSent
  return {
    isSent,
    send(outcome) {
      if (wasBegun) sendAnswer(raw, outcome, { wasBegun })
      if (isSent()) return
      const { status, headers, body } = answerTo(outcome, reply.request.raw)
      removePresetHeaders((name) => {
        // Only if it is set: otherwise Node would no longer send the stream of a hook in chunks.
        if (reply.hasHeader(name)) reply.removeHeader(name)
        // Fastify 4 leaves the headers that were set on Node's own response.
        if (raw.hasHeader(name)) raw.removeHeader(name)
      })
      // An invalid reason phrase would make the answer throw. HTTP/2 has none, and Node warns of one.
      if (reply.request.raw.httpVersionMajor === 1) raw.statusMessage = ''
      // A serializer that a hook has set would encode our text a second time.
      reply.code(status).headers(headers).serializer(String)
      send(body)
    },
  }
}
