import { SQL_STORES, type SqlClientName } from '../proof-sql.js'
import { serve, settings, stoppable } from './serving.js'

/** An app with a store on a SQL server: its effects are in the same database, but in transactions of their own. */
void SQL_STORES[settings.client as SqlClientName](settings).then(({ store, effect }) =>
  serve({ store: stoppable(store) }, (order, { attempt }) => effect(order, attempt)),
)
