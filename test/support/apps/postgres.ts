import { POSTGRES, type PostgresClientName } from '../proof-postgres.js'
import { serve, settings, stoppable } from './serving.js'

/** An app with a store in Postgres: its effects are in the same database, but in transactions of their own. */
void POSTGRES[settings.client as PostgresClientName](settings).then(({ store, effect }) =>
  serve({ store: stoppable(store) }, (order, { attempt }) => effect(order, attempt)),
)
