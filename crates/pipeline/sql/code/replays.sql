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
