-- What people look at.

CREATE OR REPLACE FUNCTION pipeline_kafka._may_see(owner name) RETURNS boolean
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT pipeline_kafka._may_act_as(owner) OR NOT row_security_active('pipeline_kafka.errors')
$$;
COMMENT ON FUNCTION pipeline_kafka._may_see(name) IS 'Whether the current role may see the data of that role''s records.';

CREATE OR REPLACE FUNCTION pipeline_kafka._old_snapshot() RETURNS interval
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT max(clock_timestamp() - a.xact_start) FROM pg_stat_activity a
  WHERE a.datname = current_database() AND a.backend_xmin IS NOT NULL AND a.xact_start < clock_timestamp() - interval '10 minutes'
$$;
COMMENT ON FUNCTION pipeline_kafka._old_snapshot() IS 'How long a transaction has kept vacuum away, if it is more than ten minutes; as far as the current role sees other sessions.';

CREATE OR REPLACE VIEW pipeline_kafka.consumer_lag AS
SELECT c.id AS consumer_id, c.group_id, c.cluster, c.topic, c.relation, s.partition, o.next_offset, p.high AS high_watermark,
  CASE WHEN o.next_offset >= p.high THEN 0
       ELSE p.high - coalesce(o.next_offset, CASE WHEN c.started_at IS NOT NULL THEN p.low END) END AS lag,
  CASE WHEN o.next_offset >= p.high THEN 0::double precision
       ELSE extract(epoch FROM clock_timestamp() - o.last_timestamp)::double precision END AS lag_seconds,
  p.observed_at
FROM pipeline_kafka.consumers c
CROSS JOIN LATERAL (
  SELECT k.partition FROM pipeline_kafka.partitions k WHERE k.cluster = c.cluster AND k.topic = c.topic
  UNION SELECT k.partition FROM pipeline_kafka.offsets k WHERE k.consumer_id = c.id) AS s
LEFT JOIN pipeline_kafka.offsets o ON o.consumer_id = c.id AND o.partition = s.partition
LEFT JOIN pipeline_kafka.partitions p ON p.cluster = c.cluster AND p.topic = c.topic AND p.partition = s.partition;
COMMENT ON VIEW pipeline_kafka.consumer_lag IS 'How far each consumer is behind in each partition, by what a worker last saw of Kafka; one row for each partition, also for those that nothing was read from.';

CREATE OR REPLACE VIEW pipeline_kafka.error_summary WITH (security_barrier) AS
SELECT c.topic, c.relation, e.sqlstate, e.message, count(*) AS count, min(e.created_at) AS first, max(e.created_at) AS last,
  (array_agg(e.partition ORDER BY e.id))[1] AS example_partition, (array_agg(e."offset" ORDER BY e.id))[1] AS example_offset
FROM pipeline_kafka.errors e JOIN pipeline_kafka.consumers c ON c.id = e.consumer_id
WHERE NOT e.resolved AND pipeline_kafka._may_see(c.owner)
GROUP BY c.topic, c.relation, e.sqlstate, e.message;
COMMENT ON VIEW pipeline_kafka.error_summary IS 'Dead letters that are not resolved, by reason, of the consumers of the current role.';

CREATE OR REPLACE VIEW pipeline_kafka.status WITH (security_barrier) AS
SELECT c.id AS consumer_id, c.cluster, c.topic, c.relation, c.owner, s.state, c.state_detail AS detail, c.state_since AS since,
  CASE WHEN r.sampled_at > clock_timestamp() - interval '30 seconds' THEN r.rows_per_second ELSE 0 END AS rows_per_second,
  l.lag::bigint AS lag, l.oldest_unread_age,
  CASE WHEN pipeline_kafka._may_see(c.owner) THEN e.message END AS last_error, w.live AS live_workers,
  CASE
    WHEN s.state = 'waiting' AND (SELECT count(*) FROM pipeline_kafka.workers k WHERE pipeline_kafka._alive(k.heartbeat_at)) > 0
      THEN format('no worker can write as %I: %s', c.owner, pipeline_kafka._way_to_act(c.owner, 'the role of a worker'))
    WHEN s.state = 'waiting' THEN 'no worker is alive: run copycat pg run --database-url …'
    WHEN s.state = 'blocked' THEN coalesce(c.state_detail, 'a worker says why in its log')
    WHEN s.state = 'paused' THEN 'SELECT * FROM pipeline_kafka.consume_begin(); resumes it'
    WHEN e.message IS NOT NULL THEN 'there are dead letters: SELECT * FROM pipeline_kafka.error_summary; then retry_errors'
    WHEN o.age IS NOT NULL THEN format('a transaction that is open for %s keeps vacuum from the table of positions', date_trunc('second', o.age))
    WHEN (SELECT t.relpersistence FROM pg_catalog.pg_class t WHERE t.oid = c.relation) = 'u'
      THEN 'the relation is UNLOGGED: a crash of the server empties it while the position stays'
  END AS hint
FROM pipeline_kafka.consumers c
CROSS JOIN LATERAL (SELECT pipeline_kafka._state(c) AS state) AS s
CROSS JOIN LATERAL (SELECT pipeline_kafka._worker_count(c.owner) AS live) AS w
CROSS JOIN LATERAL (
  SELECT sum(g.lag) AS lag, max(make_interval(secs => g.lag_seconds)) FILTER (WHERE g.lag > 0) AS oldest_unread_age
  FROM pipeline_kafka.consumer_lag g WHERE g.consumer_id = c.id) AS l
LEFT JOIN pipeline_kafka.rates r ON r.consumer_id = c.id
LEFT JOIN LATERAL (
  SELECT x.message FROM pipeline_kafka.errors x WHERE x.consumer_id = c.id AND NOT x.resolved AND x.stage <> 'skip' ORDER BY x.id DESC LIMIT 1) AS e ON true
CROSS JOIN (SELECT pipeline_kafka._old_snapshot() AS age) AS o;
COMMENT ON VIEW pipeline_kafka.status IS 'How each consumer fares, how far it is behind, and what to do about it. waiting: no worker is alive; blocked: a person has to act; backing_off: it goes on by itself.';

GRANT SELECT ON pipeline_kafka.consumer_lag, pipeline_kafka.error_summary, pipeline_kafka.status TO PUBLIC;
