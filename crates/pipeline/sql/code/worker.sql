-- What workers call. Replaced with every installation and upgrade.

CREATE OR REPLACE FUNCTION pipeline_kafka._alive(heartbeat_at timestamptz) RETURNS boolean
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT heartbeat_at > clock_timestamp() - interval '15 seconds'
$$;
COMMENT ON FUNCTION pipeline_kafka._alive(timestamptz) IS 'Whether a worker with that heartbeat is alive.';

CREATE OR REPLACE FUNCTION pipeline_kafka._gravest(
  consumer integer, OUT state text, OUT detail text, OUT blocked_partition integer, OUT blocked_offset bigint
) LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT * FROM (
    SELECT s.state, s.detail, s.blocked_partition, s.blocked_offset
    FROM pipeline_kafka.states s JOIN pipeline_kafka.workers w USING (worker)
    JOIN pipeline_kafka.consumers k ON k.id = s.consumer_id AND k.config_version = s.config_version
    WHERE s.consumer_id = consumer AND pipeline_kafka._alive(w.heartbeat_at)
    UNION ALL SELECT 'starting', NULL, NULL, NULL) AS reported
  ORDER BY array_position(ARRAY['blocked', 'backing_off', 'catching_up', 'running', 'starting'], reported.state), reported.detail
  LIMIT 1
$$;
COMMENT ON FUNCTION pipeline_kafka._gravest(integer) IS 'The gravest state that a worker that is alive reports of the consumer.';

CREATE OR REPLACE FUNCTION pipeline_kafka._sum_up(consumer integer) RETURNS void
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  UPDATE pipeline_kafka.consumers c
  SET state = s.state, state_detail = s.detail, blocked_partition = s.blocked_partition,
      blocked_offset = s.blocked_offset, state_since = clock_timestamp()
  FROM pipeline_kafka._gravest(consumer) AS s
  WHERE c.id = consumer AND c.enabled
    AND (c.state, c.state_detail, c.blocked_partition, c.blocked_offset)
      IS DISTINCT FROM (s.state, s.detail, s.blocked_partition, s.blocked_offset)
$$;
COMMENT ON FUNCTION pipeline_kafka._sum_up(integer) IS 'Makes the gravest state that a worker reports the state of the consumer.';

CREATE OR REPLACE FUNCTION pipeline_kafka._sum_up_all() RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  consumer integer;
BEGIN
  FOR consumer IN SELECT c.id FROM pipeline_kafka.consumers c, pipeline_kafka._gravest(c.id) AS s
    WHERE c.enabled AND (c.state, c.state_detail, c.blocked_partition, c.blocked_offset)
      IS DISTINCT FROM (s.state, s.detail, s.blocked_partition, s.blocked_offset) ORDER BY 1
  LOOP
    -- Whoever holds it is about to say something, or the next heartbeat does this.
    PERFORM FROM pipeline_kafka.consumers c WHERE c.id = consumer FOR NO KEY UPDATE SKIP LOCKED;
    IF FOUND THEN
      PERFORM pipeline_kafka._sum_up(consumer);
    END IF;
  END LOOP;
END $$;
COMMENT ON FUNCTION pipeline_kafka._sum_up_all() IS 'What a worker has said ends with its life: nobody says it again, and a heartbeat notices.';

CREATE OR REPLACE FUNCTION pipeline_kafka._set_state(
  consumer integer, version bigint, worker uuid, state text, detail text,
  blocked_partition integer, blocked_offset bigint
) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- One after the other, so that the last one sums up what all have said.
  PERFORM FROM pipeline_kafka.consumers c
    WHERE c.id = consumer AND c.config_version = version AND c.enabled FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO pipeline_kafka.states AS s
    (consumer_id, worker, config_version, state, detail, blocked_partition, blocked_offset)
  VALUES ($1, $3, $2, $4, $5, $6, $7)
  ON CONFLICT ON CONSTRAINT states_pkey DO UPDATE
  SET config_version = excluded.config_version, state = excluded.state, detail = excluded.detail,
      blocked_partition = excluded.blocked_partition, blocked_offset = excluded.blocked_offset,
      since = CASE WHEN s.state = excluded.state THEN s.since ELSE clock_timestamp() END;
  PERFORM pipeline_kafka._sum_up(consumer);
  RETURN true;
END $$;
COMMENT ON FUNCTION pipeline_kafka._set_state(integer, bigint, uuid, text, text, integer, bigint) IS 'A worker says how a consumer fares. False: the definition has changed or is paused.';

CREATE OR REPLACE FUNCTION pipeline_kafka._clear_state(consumer integer, worker uuid) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM FROM pipeline_kafka.consumers c WHERE c.id = consumer FOR NO KEY UPDATE;
  DELETE FROM pipeline_kafka.states s WHERE s.consumer_id = $1 AND s.worker = $2;
  PERFORM pipeline_kafka._sum_up(consumer);
END $$;
COMMENT ON FUNCTION pipeline_kafka._clear_state(integer, uuid) IS 'A worker has nothing to do with a consumer any more.';

CREATE OR REPLACE FUNCTION pipeline_kafka._leave(worker uuid) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  consumer integer;
BEGIN
  FOR consumer IN SELECT s.consumer_id FROM pipeline_kafka.states s WHERE s.worker = $1 ORDER BY 1 LOOP
    PERFORM pipeline_kafka._clear_state(consumer, $1);
  END LOOP;
  DELETE FROM pipeline_kafka.workers w WHERE w.worker = $1;
END $$;
COMMENT ON FUNCTION pipeline_kafka._leave(uuid) IS 'A worker ends.';

CREATE OR REPLACE FUNCTION pipeline_kafka._set_replay_state(
  replay bigint, version bigint, state text, detail text
) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE pipeline_kafka.replays r
  SET state = $3, state_detail = $4, state_since = clock_timestamp(),
      finished_at = CASE WHEN $3 = 'done' THEN clock_timestamp() END
  WHERE r.id = replay AND r.config_version = version AND r.state NOT IN ('done', 'cancelled');
  RETURN FOUND;
END $$;
COMMENT ON FUNCTION pipeline_kafka._set_replay_state(bigint, bigint, text, text) IS 'A worker says how a replay fares. False: it was cancelled, changed, or is done.';

CREATE OR REPLACE FUNCTION pipeline_kafka._store_starts(
  consumer integer, version bigint, topic_id uuid, partitions integer[], offsets bigint[]
) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE pipeline_kafka.consumers c
  SET started_at = clock_timestamp(), topic_id = coalesce($3, c.topic_id)
  WHERE c.id = consumer AND c.config_version = version AND c.enabled AND c.started_at IS NULL;
  IF NOT FOUND THEN
    -- Another worker was first. Partitions that it did not know are younger than the start.
    RETURN EXISTS (SELECT FROM pipeline_kafka.consumers c WHERE c.id = consumer AND c.config_version = version AND c.enabled);
  END IF;
  INSERT INTO pipeline_kafka.offsets AS o (consumer_id, partition, next_offset, topic_id)
  SELECT consumer, s.partition, s.next_offset, $3
  FROM unnest(partitions, offsets) AS s(partition, next_offset) ORDER BY s.partition
  ON CONFLICT (consumer_id, partition) DO UPDATE
  SET next_offset = excluded.next_offset, topic_id = excluded.topic_id, epoch = o.epoch + 1,
      updated_at = now()
  WHERE o.next_offset IS NULL;
  RETURN true;
END $$;
COMMENT ON FUNCTION pipeline_kafka._store_starts(integer, bigint, uuid, integer[], bigint[]) IS 'Stores where a new consumer begins, before its first record is read. Stored positions stay.';
