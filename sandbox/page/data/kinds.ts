/** The kinds of webhook. */
export const KINDS = ['order.created', 'event.published', 'event.cancelled', 'event.rescheduled'] as const
