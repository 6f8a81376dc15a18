-- Positions, replays and dead letters.

CREATE OR REPLACE FUNCTION pipeline_kafka.set_offsets(topic text, relation regclass, to_position text, cluster text DEFAULT NULL)
RETURNS TABLE (partition integer, old bigint, new bigint)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  c pipeline_kafka.consumers := pipeline_kafka._find(set_offsets.topic, set_offsets.relation, set_offsets.cluster);
  told text := pipeline_kafka._check_position('to_position', to_position, ARRAY['earliest', 'latest', '-N']);
BEGIN
  PERFORM pipeline_kafka._bump(c.id);
  IF left(told, 1) = '{' THEN
    -- Whoever sets a position means the topic as it is now, also if it was created anew.
    UPDATE pipeline_kafka.consumers k SET topic_id = NULL WHERE k.id = c.id;
    RETURN QUERY SELECT * FROM pipeline_kafka._move(c, told::jsonb);
    RETURN;
  END IF;
  UPDATE pipeline_kafka.consumers k SET start = told, started_at = NULL, topic_id = NULL WHERE k.id = c.id;
  RETURN QUERY
    WITH before AS (SELECT o.partition, o.next_offset FROM pipeline_kafka.offsets o WHERE o.consumer_id = c.id),
    moved AS (UPDATE pipeline_kafka.offsets o SET next_offset = NULL, topic_id = NULL WHERE o.consumer_id = c.id)
    SELECT b.partition, b.next_offset, CASE told WHEN 'earliest' THEN p.low WHEN 'latest' THEN p.high END
    FROM before b LEFT JOIN pipeline_kafka.partitions p ON p.cluster = c.cluster AND p.topic = c.topic AND p.partition = b.partition
    ORDER BY b.partition;
END $$;
COMMENT ON FUNCTION pipeline_kafka.set_offsets(text, regclass, text, text) IS 'Moves a consumer, also while it runs: earliest, latest, a time, -N, or a map of partitions to offsets, which leaves the others where they are. What is not known yet is resolved by a worker.';

CREATE OR REPLACE FUNCTION pipeline_kafka._move(c pipeline_kafka.consumers, map jsonb)
RETURNS TABLE (partition integer, old bigint, new bigint)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  unknown text;
BEGIN
  SELECT m.key INTO unknown FROM jsonb_object_keys(map) AS m(key)
    WHERE EXISTS (SELECT FROM pipeline_kafka.partitions p WHERE p.cluster = c.cluster AND p.topic = c.topic)
      AND NOT EXISTS (SELECT FROM pipeline_kafka.partitions p WHERE p.cluster = c.cluster AND p.topic = c.topic AND p.partition = m.key::integer)
    LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('the topic %L has no partition %s', c.topic, unknown),
      HINT = format('SELECT * FROM pipeline_kafka.topic_watermarks(%L); shows its partitions.', c.topic);
  END IF;
  FOR partition, new IN SELECT m.key::integer, m.value::bigint FROM jsonb_each_text(map) m ORDER BY 1 LOOP
    old := (SELECT o.next_offset FROM pipeline_kafka.offsets o WHERE o.consumer_id = c.id AND o.partition = _move.partition);
    INSERT INTO pipeline_kafka.offsets AS o (consumer_id, partition, next_offset) VALUES (c.id, _move.partition, _move.new)
      ON CONFLICT ON CONSTRAINT offsets_pkey DO UPDATE SET next_offset = excluded.next_offset, topic_id = NULL, updated_at = now();
    IF new > old THEN
      INSERT INTO pipeline_kafka.gaps (consumer_id, partition, from_offset, to_offset, reason) VALUES (c.id, _move.partition, _move.old, _move.new, 'skipped');
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;
COMMENT ON FUNCTION pipeline_kafka._move(pipeline_kafka.consumers, jsonb) IS 'Moves the partitions that a map names.';

CREATE OR REPLACE FUNCTION pipeline_kafka.skip(topic text, relation regclass, partition integer, "offset" bigint, cluster text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  c pipeline_kafka.consumers := pipeline_kafka._find(skip.topic, skip.relation, skip.cluster);
  stands bigint;
  told boolean := c.state = 'blocked' AND c.blocked_partition = skip.partition AND c.blocked_offset = skip."offset";
BEGIN
  -- First, as everybody locks the consumer before its positions.
  PERFORM pipeline_kafka._bump(c.id);
  SELECT o.next_offset INTO stands FROM pipeline_kafka.offsets o WHERE o.consumer_id = c.id AND o.partition = skip.partition FOR UPDATE;
  -- Between the position and the record that blocks there may be markers and holes, but no record.
  IF stands IS NULL OR NOT (stands = skip."offset" OR (told AND stands < skip."offset")) THEN
    RAISE EXCEPTION USING ERRCODE = '55000',
      MESSAGE = format('the consumer of %L into %s is not held up by offset %s of partition %s', c.topic, coalesce(c.relation::text, 'several relations'), skip."offset", skip.partition),
      DETAIL = CASE WHEN stands IS NULL THEN 'It has no position there.' ELSE format('It stands at %s.', stands) END,
      HINT = 'skip takes out exactly the record that is next. To move further, use set_offsets.';
  END IF;
  INSERT INTO pipeline_kafka.errors (consumer_id, topic, partition, "offset", stage, message)
  VALUES (c.id, c.topic, skip.partition, skip."offset", 'skip',
          format('skipped by %s%s', current_user, CASE WHEN told THEN ': ' || c.state_detail ELSE '' END))
  ON CONFLICT (consumer_id, (coalesce(replay_id, 0)), partition, "offset") DO NOTHING;
  UPDATE pipeline_kafka.offsets o SET next_offset = skip."offset" + 1 WHERE o.consumer_id = c.id AND o.partition = skip.partition;
END $$;
COMMENT ON FUNCTION pipeline_kafka.skip(text, regclass, integer, bigint, text) IS 'Moves a consumer past the one record that it stands at, and records that in errors.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_range_of_replay(start_at text, end_at text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  wrong text;
BEGIN
  IF left(start_at, 1) = '{' AND left(end_at, 1) = '{' THEN
    SELECT k INTO wrong FROM (SELECT jsonb_object_keys(start_at::jsonb) UNION SELECT jsonb_object_keys(end_at::jsonb)) AS u(k)
      WHERE NOT (start_at::jsonb ? k AND end_at::jsonb ? k) LIMIT 1;
    IF FOUND THEN
      RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('partition %s has %s', wrong,
        CASE WHEN start_at::jsonb ? wrong THEN 'a start and no end' ELSE 'an end and no start' END), HINT = 'Both maps name the same partitions.';
    END IF;
    SELECT s.key INTO wrong FROM jsonb_each_text(start_at::jsonb) s JOIN jsonb_each_text(end_at::jsonb) e USING (key)
      WHERE s.value::bigint >= e.value::bigint LIMIT 1;
    IF FOUND THEN
      RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('the start is not before the end in partition %s', wrong), HINT = 'The end is the first offset that is not read.';
    END IF;
  ELSIF start_at ~ '^[0-9]{4}' AND end_at ~ '^[0-9]{4}' AND start_at::timestamptz >= end_at::timestamptz THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('the start %s is not before the end %s', start_at, end_at);
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_range_of_replay(text, text) IS 'Raises 22023 unless the start is before the end, as far as can be told without Kafka.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_target_of_replay(c pipeline_kafka.consumers, target regclass, mode text, force boolean) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF target IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('the consumer of %L writes to several relations', c.topic), HINT = 'Say where to: into_relation => ''TABLE''.';
  END IF;
  PERFORM pipeline_kafka._check_choice('mode', mode, ARRAY['append', 'ignore', 'upsert']);
  IF target = c.relation AND mode = 'append' AND NOT force THEN
    RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = format('a replay into %s in append mode stores its records a second time', target),
      HINT = 'Take another table, into_relation => ''TABLE'', or say that this is meant: force => true.';
  END IF;
  IF target = c.relation AND mode = 'upsert' AND c.version_column IS NULL AND NOT force THEN
    RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = format('a replay into %s in upsert mode would put older values over newer ones', target),
      HINT = 'Give the consumer a version_column, take another table (into_relation), or say that this is meant: force => true.';
  END IF;
  c.mode := mode;
  IF mode <> 'upsert' THEN
    c.version_column := NULL;
    c.tombstones := 'ignore';
  END IF;
  IF mode = 'append' THEN
    c.conflict_columns := NULL;
  END IF;
  IF c.transform IS NOT NULL AND target <> c.relation THEN
    PERFORM pipeline_kafka._check_transform(target, c.transform::regprocedure);
  END IF;
  PERFORM pipeline_kafka._check_target(c, target);
  PERFORM pipeline_kafka._check_worker();
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_target_of_replay(pipeline_kafka.consumers, regclass, text, boolean) IS 'Raises unless a replay can write to the relation and does no harm there.';

CREATE OR REPLACE FUNCTION pipeline_kafka.replay(
  topic text, relation regclass, start_at text, end_at text, into_relation regclass DEFAULT NULL, mode text DEFAULT NULL,
  force boolean DEFAULT false, only_partitions integer[] DEFAULT NULL, cluster text DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  c pipeline_kafka.consumers := pipeline_kafka._find(replay.topic, replay.relation, replay.cluster);
  the_start text := pipeline_kafka._check_position('start_at', replay.start_at, ARRAY['earliest', '-N']);
  the_end text := pipeline_kafka._check_position('end_at', replay.end_at, ARRAY['latest']);
  the_mode text := coalesce(replay.mode, c.mode);
  target regclass := coalesce(replay.into_relation, c.relation);
  the_id bigint;
BEGIN
  PERFORM pipeline_kafka._check_range_of_replay(the_start, the_end);
  IF replay.only_partitions = '{}' OR EXISTS (SELECT FROM unnest(replay.only_partitions) AS p WHERE p IS NULL OR p < 0) THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'only_partitions names no partition', HINT = 'Partitions are whole numbers from 0; NULL takes all.';
  END IF;
  PERFORM pipeline_kafka._check_target_of_replay(c, target, the_mode, coalesce(replay.force, false));
  INSERT INTO pipeline_kafka.replays (consumer_id, start_at, end_at, into_relation, mode, force, only_partitions)
  VALUES (c.id, the_start, the_end, target, the_mode, coalesce(replay.force, false), replay.only_partitions) RETURNING id INTO the_id;
  PERFORM pipeline_kafka._notify('replays');
  RETURN the_id;
END $$;
COMMENT ON FUNCTION pipeline_kafka.replay(text, regclass, text, text, regclass, text, boolean, integer[], text) IS 'Reads a range of the topic once more, beside the live flow, whose position is not touched. start_at: earliest, a time, -N or a map; end_at, exclusive: latest, a time or a map. Gives the number of the replay.';

CREATE OR REPLACE FUNCTION pipeline_kafka.replay_cancel(id bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  r pipeline_kafka.replays;
  c pipeline_kafka.consumers;
BEGIN
  SELECT * INTO r FROM pipeline_kafka.replays k WHERE k.id = replay_cancel.id;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = '42704', MESSAGE = format('there is no replay %s', coalesce(replay_cancel.id::text, 'NULL'));
  END IF;
  SELECT * INTO c FROM pipeline_kafka.consumers k WHERE k.id = r.consumer_id;
  PERFORM pipeline_kafka._check_mine(c);
  UPDATE pipeline_kafka.replays k SET state = 'cancelled', state_detail = NULL, state_since = clock_timestamp(), finished_at = clock_timestamp(),
      config_version = nextval('pipeline_kafka.config_versions')
    WHERE k.id = r.id AND k.state NOT IN ('done', 'cancelled');
  IF NOT FOUND THEN
    RAISE NOTICE USING MESSAGE = format('the replay %s is over already', r.id);
    RETURN;
  END IF;
  PERFORM FROM pipeline_kafka.replay_offsets o WHERE o.replay_id = r.id ORDER BY o.partition FOR UPDATE;
  UPDATE pipeline_kafka.replay_offsets o SET epoch = o.epoch + 1, updated_at = now() WHERE o.replay_id = r.id;
  PERFORM pipeline_kafka._notify('replays');
END $$;
COMMENT ON FUNCTION pipeline_kafka.replay_cancel(bigint) IS 'Ends a replay. The rows that it has stored stay.';

CREATE OR REPLACE FUNCTION pipeline_kafka.retry_errors(topic text, relation regclass, where_clause jsonb DEFAULT '{}', cluster text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  known text[] := ARRAY['id', 'partition', 'offset', 'from_offset', 'to_offset', 'sqlstate', 'stage', 'replay_id', 'since', 'until'];
  c pipeline_kafka.consumers := pipeline_kafka._find(retry_errors.topic, retry_errors.relation, retry_errors.cluster);
  w jsonb := coalesce(where_clause, '{}');
  unknown text;
  queued bigint;
BEGIN
  IF jsonb_typeof(w) <> 'object' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'where_clause is not an object', HINT = 'For example: {"sqlstate": "22P02", "partition": 3}.';
  END IF;
  SELECT k INTO unknown FROM jsonb_object_keys(w) AS k WHERE k <> ALL (known) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('where_clause: unknown condition %s', quote_literal(unknown)),
      HINT = format('Conditions are: %s.', array_to_string(known, ', '));
  END IF;
  UPDATE pipeline_kafka.errors e SET retry_queued_at = clock_timestamp()
  WHERE e.consumer_id = c.id AND NOT e.resolved AND e.stage <> 'skip'
    AND (NOT w ? 'id' OR e.id = (w ->> 'id')::bigint)
    AND (NOT w ? 'partition' OR e.partition = (w ->> 'partition')::integer)
    AND (NOT w ? 'offset' OR e."offset" = (w ->> 'offset')::bigint)
    AND (NOT w ? 'from_offset' OR e."offset" >= (w ->> 'from_offset')::bigint)
    AND (NOT w ? 'to_offset' OR e."offset" < (w ->> 'to_offset')::bigint)
    AND (NOT w ? 'sqlstate' OR e.sqlstate = w ->> 'sqlstate')
    AND (NOT w ? 'stage' OR e.stage = w ->> 'stage')
    AND (NOT w ? 'replay_id' OR e.replay_id = (w ->> 'replay_id')::bigint)
    AND (NOT w ? 'since' OR e.created_at >= (w ->> 'since')::timestamptz)
    AND (NOT w ? 'until' OR e.created_at < (w ->> 'until')::timestamptz);
  GET DIAGNOSTICS queued = ROW_COUNT;
  IF queued > 0 AND c.mode = 'upsert' AND c.version_column IS NULL THEN
    RAISE WARNING USING MESSAGE = 'the consumer has no version_column: a dead letter may put an older value over a newer one',
      HINT = 'Call this in a transaction, look at the dead letters, and roll back if one has been overtaken.';
  END IF;
  PERFORM pipeline_kafka._notify('errors');
  RETURN queued;
END $$;
COMMENT ON FUNCTION pipeline_kafka.retry_errors(text, regclass, jsonb, text) IS 'Has dead letters decoded and written once more, by a worker, in a transaction of their own. Gives how many.';
