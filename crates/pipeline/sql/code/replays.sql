-- What those who run replays call.

CREATE OR REPLACE FUNCTION pipeline_kafka._lease_replay(replay bigint, version bigint, holder uuid, seconds integer) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r pipeline_kafka.replays;
BEGIN
  SELECT * INTO r FROM pipeline_kafka.replays k WHERE k.id = replay FOR UPDATE;
  IF NOT FOUND OR r.config_version <> version OR r.state IN ('done', 'cancelled') THEN
    RETURN 'over';
  END IF;
  IF r.lease_owner <> holder AND r.lease_until > clock_timestamp() THEN
    RETURN 'taken';
  END IF;
  UPDATE pipeline_kafka.replays k SET lease_owner = holder, lease_until = clock_timestamp() + make_interval(secs => seconds)
    WHERE k.id = replay;
  RETURN CASE WHEN r.started_at IS NULL THEN 'new' ELSE 'started' END;
END $$;
COMMENT ON FUNCTION pipeline_kafka._lease_replay(bigint, bigint, uuid, integer) IS 'Takes or keeps a replay for so many seconds: new or started; taken: another process runs it; over: done, cancelled or changed. Zero seconds give it back.';

CREATE OR REPLACE FUNCTION pipeline_kafka._store_replay(
  replay bigint, version bigint, topic_id uuid, partitions integer[], starts bigint[], ends bigint[]
) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE pipeline_kafka.replays r SET started_at = clock_timestamp()
  WHERE r.id = replay AND r.config_version = version AND r.started_at IS NULL AND r.state NOT IN ('done', 'cancelled');
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO pipeline_kafka.replay_offsets (replay_id, partition, start_offset, next_offset, end_offset, topic_id)
  SELECT replay, s.partition, s.start_offset, s.start_offset, s.end_offset, $3
  FROM unnest(partitions, starts, ends) AS s(partition, start_offset, end_offset) ORDER BY s.partition;
  RETURN true;
END $$;
COMMENT ON FUNCTION pipeline_kafka._store_replay(bigint, bigint, uuid, integer[], bigint[], bigint[]) IS 'Stores the range of a replay, once, before its first record is read.';

CREATE OR REPLACE FUNCTION pipeline_kafka._end_retry(retry bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE pipeline_kafka.errors e
  SET stage = n.stage, sqlstate = n.sqlstate, message = n.message, column_name = n.column_name, schema_id = n.schema_id,
      retried_at = clock_timestamp(), retry_queued_at = NULL, retry_id = NULL
  FROM pipeline_kafka.errors n
  WHERE e.retry_id = retry AND n.replay_id = retry AND n.partition = e.partition AND n."offset" = e."offset";
  UPDATE pipeline_kafka.errors e SET resolved = true, retried_at = clock_timestamp(), retry_queued_at = NULL, retry_id = NULL
  FROM pipeline_kafka.replay_offsets o
  WHERE e.retry_id = retry AND o.replay_id = retry AND o.partition = e.partition AND e."offset" < o.next_offset;
  UPDATE pipeline_kafka.errors e SET retry_queued_at = NULL, retry_id = NULL WHERE e.retry_id = retry;
  DELETE FROM pipeline_kafka.replays r WHERE r.id = retry AND r.is_retry;
END $$;
COMMENT ON FUNCTION pipeline_kafka._end_retry(bigint) IS 'Settles the dead letters that were tried again: resolved, or with the new reason.';

CREATE OR REPLACE FUNCTION pipeline_kafka._begin_retries() RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  c record;
  the_id bigint;
BEGIN
  PERFORM pipeline_kafka._end_retry(r.id) FROM pipeline_kafka.replays r WHERE r.is_retry AND r.state = 'cancelled';
  FOR c IN
    SELECT DISTINCT ON (k.id) k.id, e.replay_id, coalesce(r.owner, k.owner) AS owner, coalesce(r.mode, k.mode) AS mode,
      coalesce(r.into_relation, k.relation, k.relations[1]) AS target
    FROM pipeline_kafka.errors e JOIN pipeline_kafka.consumers k ON k.id = e.consumer_id
      LEFT JOIN pipeline_kafka.replays r ON r.id = e.replay_id
    WHERE e.retry_queued_at IS NOT NULL AND NOT e.resolved AND e.retry_id IS NULL
      AND NOT EXISTS (SELECT FROM pipeline_kafka.replays o WHERE o.consumer_id = k.id AND o.is_retry)
    ORDER BY k.id, e.id
  LOOP
    -- One retry of a consumer at a time, so that the order of its dead letters stays.
    PERFORM FROM pipeline_kafka.consumers k WHERE k.id = c.id FOR UPDATE;
    CONTINUE WHEN EXISTS (SELECT FROM pipeline_kafka.replays o WHERE o.consumer_id = c.id AND o.is_retry);
    INSERT INTO pipeline_kafka.replays (consumer_id, owner, start_at, end_at, into_relation, mode, force, is_retry, started_at)
    VALUES (c.id, c.owner, 'earliest', 'latest', c.target, c.mode, true, true, clock_timestamp()) RETURNING id INTO the_id;
    UPDATE pipeline_kafka.errors e SET retry_id = the_id WHERE e.id IN (
      SELECT q.id FROM pipeline_kafka.errors q WHERE q.consumer_id = c.id AND q.replay_id IS NOT DISTINCT FROM c.replay_id
        AND q.retry_queued_at IS NOT NULL AND NOT q.resolved AND q.retry_id IS NULL
      ORDER BY q."offset", q.partition LIMIT 10000);
    INSERT INTO pipeline_kafka.replay_offsets (replay_id, partition, start_offset, next_offset, end_offset)
    SELECT the_id, e.partition, min(e."offset"), min(e."offset"), max(e."offset") + 1
    FROM pipeline_kafka.errors e WHERE e.retry_id = the_id GROUP BY e.partition;
    PERFORM pipeline_kafka._notify('replays');
  END LOOP;
END $$;
COMMENT ON FUNCTION pipeline_kafka._begin_retries() IS 'Makes a replay of the queued dead letters of each consumer, which workers then run.';
