import { INBOXES, type PostgresClientName } from '../proof-postgres.js'
import { pass, serve, settings } from './serving.js'

/** An app with a transactional inbox. */
void INBOXES[settings.client as PostgresClientName](settings, pass).then(({ inbox, effect }) =>
  serve({ inbox }, (order, { tx }) => effect(order, tx)),
)
