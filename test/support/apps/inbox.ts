import { SQL_INBOXES } from '../proof-clients.js'
import { pass, serve, settings } from './serving.js'

/** An app with a transactional inbox. */
void SQL_INBOXES[settings.client]?.(settings, pass).then(({ inbox, effect }) =>
  serve({ inbox }, (order, { tx }) => effect(order, tx)),
)
