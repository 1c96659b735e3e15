import { SQL_INBOXES } from '../proof-clients.js'
import { pass, serve, settings } from './serving.js'

/** An app with a transactional inbox, and failures that are joined with it. */
void SQL_INBOXES[settings.client]?.(settings, pass).then(({ inbox, failures, effect }) =>
  serve({ inbox, failures }, (order, { tx }) => effect(order, tx)),
)
