-- Messages out of the database, and what is known of topics.

CREATE OR REPLACE FUNCTION pipeline_kafka._check_headers(headers jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF headers IS NOT NULL AND (jsonb_typeof(headers) <> 'object'
      OR EXISTS (SELECT FROM jsonb_each(CASE jsonb_typeof(headers) WHEN 'object' THEN headers ELSE '{}' END) h WHERE jsonb_typeof(h.value) NOT IN ('string', 'null'))) THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'headers is not an object of names and texts', HINT = 'For example: {"source": "orders"}.';
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_headers(jsonb) IS 'Raises 22023 unless these can be headers of a message.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_partition(partition integer) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF partition < 0 THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('%s is no partition', partition), HINT = 'Partitions are whole numbers from 0; NULL leaves the choice to the key.';
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_partition(integer) IS 'Raises 22023 for a negative number.';

CREATE OR REPLACE FUNCTION pipeline_kafka.produce_message(
  topic text, message bytea, partition integer DEFAULT NULL, key bytea DEFAULT NULL, headers jsonb DEFAULT NULL, cluster text DEFAULT 'default'
) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  the_id bigint;
BEGIN
  PERFORM pipeline_kafka._check_topic(produce_message.topic);
  PERFORM pipeline_kafka._check_cluster(produce_message.cluster);
  PERFORM pipeline_kafka._check_partition(produce_message.partition);
  PERFORM pipeline_kafka._check_headers(produce_message.headers);
  INSERT INTO pipeline_kafka.outbox (cluster, topic, partition, key, value, headers)
  VALUES (produce_message.cluster, produce_message.topic, produce_message.partition, produce_message.key, message, produce_message.headers)
  RETURNING id INTO the_id;
  PERFORM pipeline_kafka._notify('outbox');
  RETURN the_id;
END $$;
COMMENT ON FUNCTION pipeline_kafka.produce_message(text, bytea, integer, bytea, jsonb, text) IS 'Sends a message when this transaction has committed, and never if it rolls back. A NULL message is a tombstone.';

CREATE OR REPLACE FUNCTION pipeline_kafka.emit_tuple() RETURNS trigger
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  topic text := TG_ARGV[0];
  partition integer;
  key_column text := TG_ARGV[2];
  new_key text;
  old_key text;
BEGIN
  IF TG_WHEN <> 'AFTER' OR TG_LEVEL <> 'ROW' OR TG_OP = 'TRUNCATE' THEN
    RAISE EXCEPTION USING ERRCODE = '39P01', MESSAGE = 'emit_tuple works as a trigger AFTER INSERT, UPDATE or DELETE FOR EACH ROW only';
  END IF;
  IF coalesce(TG_ARGV[1], '-1') !~ '^(-1|[0-9]{1,9})$' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('emit_tuple: %L is no partition', TG_ARGV[1]), HINT = 'The arguments are the topic, the partition (-1 leaves the choice to the key), the key column.';
  END IF;
  partition := nullif(coalesce(TG_ARGV[1], '-1'), '-1')::integer;
  IF key_column IS NOT NULL THEN
    IF NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = TG_RELID AND a.attname = key_column AND a.attnum > 0 AND NOT a.attisdropped) THEN
      RAISE EXCEPTION USING ERRCODE = '42703', MESSAGE = format('emit_tuple: %s has no column %I', TG_RELID::regclass, key_column);
    END IF;
    new_key := CASE WHEN TG_OP <> 'DELETE' THEN row_to_json(NEW) ->> key_column END;
    old_key := CASE WHEN TG_OP <> 'INSERT' THEN row_to_json(OLD) ->> key_column END;
  ELSIF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'emit_tuple: a deleted row is a message without a value, so it needs a key',
      HINT = format('Name the key column: pipeline_kafka.emit_tuple(%L, %L, ''COLUMN'').', topic, coalesce(TG_ARGV[1], '-1'));
  END IF;
  -- A row that gets another key is gone under the old one.
  IF old_key IS DISTINCT FROM new_key AND TG_OP <> 'INSERT' THEN
    PERFORM pipeline_kafka.produce_message(topic, NULL, partition, convert_to(old_key, 'UTF8'), cluster => coalesce(TG_ARGV[3], 'default'));
  END IF;
  IF TG_OP <> 'DELETE' THEN
    PERFORM pipeline_kafka.produce_message(topic, convert_to(row_to_json(NEW)::text, 'UTF8'), partition, convert_to(new_key, 'UTF8'), cluster => coalesce(TG_ARGV[3], 'default'));
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION pipeline_kafka.emit_tuple() IS 'Trigger AFTER INSERT, UPDATE or DELETE FOR EACH ROW: sends the row as JSON, a deleted one as a tombstone. Arguments: topic, partition (-1: by the key), key column, cluster.';

CREATE OR REPLACE FUNCTION pipeline_kafka._watermarks(a_topic text, a_partition integer, a_cluster text)
RETURNS TABLE (partition integer, low_watermark bigint, high_watermark bigint, observed_at timestamptz)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pipeline_kafka._check_topic(a_topic);
  RETURN QUERY SELECT p.partition, p.low, p.high, p.observed_at FROM pipeline_kafka.partitions p
    WHERE p.cluster = a_cluster AND p.topic = a_topic AND (a_partition IS NULL OR p.partition = a_partition) ORDER BY 1;
  IF NOT FOUND THEN
    RAISE NOTICE USING MESSAGE = format('nothing is known of the topic %L%s', a_topic, coalesce(', partition ' || a_partition, '')),
      HINT = 'Workers look at the topics that have a consumer, every few seconds.';
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._watermarks(text, integer, text) IS 'What the workers have last seen of a topic.';

CREATE OR REPLACE FUNCTION pipeline_kafka.topic_watermarks(topic text, partition integer DEFAULT NULL, cluster text DEFAULT 'default')
RETURNS TABLE (partition integer, low_watermark bigint, high_watermark bigint, observed_at timestamptz)
LANGUAGE sql VOLATILE AS $$ SELECT * FROM pipeline_kafka._watermarks($1, $2, $3) $$;
COMMENT ON FUNCTION pipeline_kafka.topic_watermarks(text, integer, text) IS 'First and next offset of each partition of a consumed topic, as a worker last saw them.';

CREATE OR REPLACE PROCEDURE pipeline_kafka.wait_for(topic text, relation regclass, what text DEFAULT 'running', patience interval DEFAULT '30 s')
LANGUAGE plpgsql AS $$
DECLARE
  began timestamptz := pg_catalog.clock_timestamp();
  c pipeline_kafka.consumers;
  state text;
  reached boolean;
BEGIN
  PERFORM pipeline_kafka._check_choice('what', what, ARRAY['running', 'caught_up']);
  LOOP
    -- Ends the transaction, so that what workers have done since can be seen.
    COMMIT;
    c := pipeline_kafka._find(topic, relation, NULL);
    state := pipeline_kafka._state(c);
    reached := state IN ('running', 'catching_up') AND (what = 'running' AND state = 'running' OR what = 'caught_up' AND pipeline_kafka._caught_up(c, began));
    EXIT WHEN reached;
    IF state IN ('paused', 'blocked') OR pg_catalog.clock_timestamp() > began + patience THEN
      RAISE EXCEPTION USING ERRCODE = '55000',
        MESSAGE = pg_catalog.format('the consumer of %L into %s is %s, not %s', topic, coalesce(relation::text, 'several relations'), state, what),
        DETAIL = coalesce(c.state_detail, ''),
        HINT = CASE state WHEN 'waiting' THEN 'No worker is alive: run copycat pg run.' WHEN 'paused' THEN 'consume_begin() resumes it.'
               WHEN 'blocked' THEN 'The detail says what resolves it.' ELSE 'It may need more patience.' END;
    END IF;
    COMMIT;
    PERFORM pg_catalog.pg_sleep(0.05);
  END LOOP;
END $$;
COMMENT ON PROCEDURE pipeline_kafka.wait_for(text, regclass, text, interval) IS 'Waits until a consumer is running, or has caught up with what Kafka had when the call began. CALL it outside of a transaction. Raises 55000 when patience ends, or at once when it is paused or blocked.';

CREATE OR REPLACE FUNCTION pipeline_kafka._caught_up(c pipeline_kafka.consumers, since timestamptz) RETURNS boolean
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(bool_and(p.observed_at > since AND o.next_offset >= p.high), false)
  FROM pipeline_kafka.partitions p LEFT JOIN pipeline_kafka.offsets o ON o.consumer_id = c.id AND o.partition = p.partition
  WHERE p.cluster = c.cluster AND p.topic = c.topic
$$;
COMMENT ON FUNCTION pipeline_kafka._caught_up(pipeline_kafka.consumers, timestamptz) IS 'Whether nothing is left to read of what a worker has seen since then.';
