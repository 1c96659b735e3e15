-- As from-0.1.0.postgres.sql, for SQLite.
BEGIN;

INSERT INTO tix_webhooks_events
  (event_key, state, token, attempt, lease_until, expires_at, received_at, namespace, handled_at)
SELECT key, 'handled', '', 1, 0, expires_at, handled_at, substr(key, 1, instr(key, '/') - 1), handled_at
FROM tix_webhooks_inbox WHERE expires_at > unixepoch() * 1000
ON CONFLICT (event_key) DO NOTHING;

INSERT INTO tix_webhooks_events
  (event_key, state, token, attempt, lease_until, expires_at, received_at, namespace, handled_at)
SELECT key, 'handled', token, attempt, 0, expires_at, unixepoch() * 1000, substr(key, 1, instr(key, '/') - 1), unixepoch() * 1000
FROM tix_webhooks WHERE state = 'completed' AND expires_at > unixepoch() * 1000
ON CONFLICT (event_key) DO NOTHING;

INSERT INTO tix_webhooks_events
  (event_key, state, token, attempt, lease_until, expires_at, received_at, namespace, account, kind,
   failure, failed_at, first_at, delivered_at, replayed_at, fails, replays,
   cause, code, message, event_id, order_id, signed_at, secret_index, raw_body)
SELECT key, 'released', '', attempts, 0, last_at + 2592000000, first_at, namespace, account, kind,
  state, last_at, first_at, last_at, last_replayed_at, attempts - replays, replays,
  cause, code, message, event_id, order_id, signed_at, secret_index, raw_body
FROM tix_webhooks_failures WHERE last_at > unixepoch() * 1000 - 2592000000
ON CONFLICT (event_key) DO NOTHING;

INSERT INTO tix_webhooks_events_newest (subject, changed_at, rank, expires_at)
SELECT subject, changed_at, rank, expires_at FROM tix_webhooks_inbox_newest WHERE true
ON CONFLICT (subject) DO NOTHING;

COMMIT;
