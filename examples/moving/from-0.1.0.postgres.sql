-- From the three tables of 0.1.0 to the one of the ledger. Run it once migrate() has made that one, while no process of 0.1.0 is running, and leave
-- out the tables that you do not have. What was handled comes first, so that its failure is left out. Attempts of events that were
-- not kept begin at 1 again.
BEGIN;

INSERT INTO tix_webhooks_events
  (event_key, state, token, attempt, lease_until, expires_at, received_at, namespace, handled_at)
SELECT key, 'handled', '', 1, 0, extract(epoch FROM expires_at) * 1000, extract(epoch FROM handled_at) * 1000,
  split_part(key, '/', 1), extract(epoch FROM handled_at) * 1000
FROM tix_webhooks_inbox WHERE expires_at > now()
ON CONFLICT (event_key) DO NOTHING;

-- A store did not know when: now is the date of all.
INSERT INTO tix_webhooks_events
  (event_key, state, token, attempt, lease_until, expires_at, received_at, namespace, handled_at)
SELECT key, 'handled', token, attempt, 0, extract(epoch FROM expires_at) * 1000, extract(epoch FROM now()) * 1000,
  split_part(key, '/', 1), extract(epoch FROM now()) * 1000
FROM tix_webhooks WHERE state = 'completed' AND expires_at > now()
ON CONFLICT (event_key) DO NOTHING;

-- Kept for 30 days from the last failure.
INSERT INTO tix_webhooks_events
  (event_key, state, token, attempt, lease_until, expires_at, received_at, namespace, account, kind,
   failure, failed_at, first_at, delivered_at, replayed_at, fails, replays,
   cause, code, message, event_id, order_id, signed_at, secret_index, raw_body)
SELECT key, 'released', '', attempts, 0, extract(epoch FROM last_at + interval '30 days') * 1000, extract(epoch FROM first_at) * 1000,
  namespace, account, kind,
  state, extract(epoch FROM last_at) * 1000, extract(epoch FROM first_at) * 1000, extract(epoch FROM last_at) * 1000,
  extract(epoch FROM last_replayed_at) * 1000, attempts - replays, replays,
  cause, code, message, event_id, order_id, extract(epoch FROM signed_at) * 1000, secret_index, raw_body
FROM tix_webhooks_failures WHERE last_at > now() - interval '30 days'
ON CONFLICT (event_key) DO NOTHING;

INSERT INTO tix_webhooks_events_newest (subject, changed_at, rank, expires_at)
SELECT subject, changed_at, rank, extract(epoch FROM expires_at) * 1000 FROM tix_webhooks_inbox_newest
ON CONFLICT (subject) DO NOTHING;

COMMIT;
