-- As from-0.1.0.postgres.sql, for MySQL and MariaDB.
START TRANSACTION;

INSERT INTO tix_webhooks_events
  (event_key, state, token, attempt, lease_until, expires_at, received_at, namespace, handled_at)
SELECT `key`, 'handled', '', 1, 0, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', old.expires_at) DIV 1000,
  TIMESTAMPDIFF(MICROSECOND, '1970-01-01', old.handled_at) DIV 1000, SUBSTRING_INDEX(`key`, '/', 1),
  TIMESTAMPDIFF(MICROSECOND, '1970-01-01', old.handled_at) DIV 1000
FROM tix_webhooks_inbox AS old WHERE old.expires_at > UTC_TIMESTAMP(6)
ON DUPLICATE KEY UPDATE event_key = event_key;

INSERT INTO tix_webhooks_events
  (event_key, state, token, attempt, lease_until, expires_at, received_at, namespace, handled_at)
SELECT `key`, 'handled', old.token, old.attempt, 0, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', old.expires_at) DIV 1000,
  TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000, SUBSTRING_INDEX(`key`, '/', 1),
  TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000
FROM tix_webhooks AS old WHERE old.state = 'completed' AND old.expires_at > UTC_TIMESTAMP(6)
ON DUPLICATE KEY UPDATE event_key = event_key;

INSERT INTO tix_webhooks_events
  (event_key, state, token, attempt, lease_until, expires_at, received_at, namespace, account, kind,
   failure, failed_at, first_at, delivered_at, replayed_at, fails, replays,
   cause, code, message, event_id, order_id, signed_at, secret_index, raw_body)
SELECT `key`, 'released', '', old.attempts, 0, old.last_at + 2592000000, old.first_at, old.namespace, old.account, old.kind,
  old.state, old.last_at, old.first_at, old.last_at, old.last_replayed_at, old.attempts - old.replays, old.replays,
  old.cause, old.code, old.message, old.event_id, old.order_id, old.signed_at, old.secret_index, old.raw_body
FROM tix_webhooks_failures AS old
WHERE old.last_at + 2592000000 > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000
ON DUPLICATE KEY UPDATE event_key = event_key;

INSERT INTO tix_webhooks_events_newest (subject, changed_at, `rank`, expires_at)
SELECT old.subject, old.changed_at, old.`rank`, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', old.expires_at) DIV 1000
FROM tix_webhooks_inbox_newest AS old
ON DUPLICATE KEY UPDATE tix_webhooks_events_newest.`rank` = tix_webhooks_events_newest.`rank`;

COMMIT;
