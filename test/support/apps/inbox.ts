import { SQL_INBOXES, type SqlClientName } from '../proof-sql.js'
import { pass, serve, settings } from './serving.js'

/** An app with a transactional inbox. */
void SQL_INBOXES[settings.client as SqlClientName](settings, pass).then(({ inbox, effect }) =>
  serve({ inbox }, (order, { tx }) => effect(order, tx)),
)
