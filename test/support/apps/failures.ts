import { INBOXES, type PostgresClientName } from '../proof-postgres.js'
import { pass, serve, settings } from './serving.js'

/** An app with a transactional inbox, and failures that are joined with it. */
void INBOXES[settings.client as PostgresClientName](settings, pass).then(({ inbox, failures, effect }) =>
  serve({ inbox, failures }, (order, { tx }) => effect(order, tx)),
)
