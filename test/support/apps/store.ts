import { STORES } from '../proof-clients.js'
import { serve, settings, stoppable } from './serving.js'

/** An app with a store: its effects are on the same server, but in transactions of their own. */
void STORES[settings.client]?.(settings).then(({ store, effect }) =>
  serve({ store: stoppable(store) }, (order, { attempt }) => effect(order, attempt)),
)
