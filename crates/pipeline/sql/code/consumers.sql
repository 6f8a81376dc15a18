-- Consumers: what is consumed, paused, changed and dropped.

CREATE OR REPLACE FUNCTION pipeline_kafka._worker_count(owner name) RETURNS bigint
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT count(*) FROM pipeline_kafka.workers w
  WHERE pipeline_kafka._alive(w.heartbeat_at) AND pipeline_kafka._can_become(w.role, owner)
$$;
COMMENT ON FUNCTION pipeline_kafka._worker_count(name) IS 'Workers that are alive and can write as that role.';

CREATE OR REPLACE FUNCTION pipeline_kafka._state(c pipeline_kafka.consumers) RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN NOT c.enabled THEN 'paused' WHEN c.state = 'blocked' THEN 'blocked'
    WHEN pipeline_kafka._worker_count(c.owner) = 0 THEN 'waiting' ELSE c.state END
$$;
COMMENT ON FUNCTION pipeline_kafka._state(pipeline_kafka.consumers) IS 'The state of a consumer; waiting where no worker is alive.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_mine(c pipeline_kafka.consumers) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF row_security_active('pipeline_kafka.consumers') AND NOT pipeline_kafka._may_act_as(c.owner) THEN
    RAISE EXCEPTION USING ERRCODE = '42501',
      MESSAGE = format('the consumer of %L into %s belongs to the role %I', c.topic, coalesce(c.relation::text, 'several relations'), c.owner),
      HINT = CASE WHEN (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = c.owner) THEN 'Ask its owner.'
        ELSE format('GRANT %I TO %I; or ask its owner.', c.owner, current_user) END;
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_mine(pipeline_kafka.consumers) IS 'Raises 42501 unless the current role may act as the owner.';

CREATE OR REPLACE FUNCTION pipeline_kafka._find(a_topic text, a_relation regclass, a_cluster text) RETURNS pipeline_kafka.consumers
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  found_ids integer[];
  c pipeline_kafka.consumers;
BEGIN
  SELECT array_agg(k.id) INTO found_ids FROM pipeline_kafka.consumers k
    WHERE k.topic = a_topic AND k.relation IS NOT DISTINCT FROM a_relation AND (a_cluster IS NULL OR k.cluster = a_cluster);
  IF found_ids IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = '42704',
      MESSAGE = format('there is no consumer of %s into %s', coalesce(quote_literal(a_topic), 'NULL'), coalesce(a_relation::text, 'several relations')),
      HINT = 'SELECT topic, relation FROM pipeline_kafka.consumers; shows those there are.';
  END IF;
  IF cardinality(found_ids) > 1 THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('several clusters have a topic %L that is consumed into %s', a_topic, a_relation),
      HINT = 'Name one: cluster => ''NAME''.';
  END IF;
  SELECT * INTO c FROM pipeline_kafka.consumers k WHERE k.id = found_ids[1];
  PERFORM pipeline_kafka._check_mine(c);
  SELECT * INTO c FROM pipeline_kafka.consumers k WHERE k.id = found_ids[1] FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = '42704', MESSAGE = format('the consumer of %L into %s was dropped', a_topic, a_relation);
  END IF;
  RETURN c;
END $$;
COMMENT ON FUNCTION pipeline_kafka._find(text, regclass, text) IS 'The consumer, locked; raises 42704 if there is none.';

CREATE OR REPLACE FUNCTION pipeline_kafka._bump(consumer integer) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE pipeline_kafka.consumers c
  SET config_version = nextval('pipeline_kafka.config_versions'), state = CASE WHEN c.enabled THEN 'starting' ELSE 'paused' END,
      state_detail = NULL, state_since = clock_timestamp(), blocked_partition = NULL, blocked_offset = NULL
  WHERE c.id = consumer;
  DELETE FROM pipeline_kafka.states s WHERE s.consumer_id = consumer;
  -- In the order in which workers lock them.
  PERFORM FROM pipeline_kafka.offsets o WHERE o.consumer_id = consumer ORDER BY o.partition FOR UPDATE;
  UPDATE pipeline_kafka.offsets o SET epoch = o.epoch + 1, updated_at = now() WHERE o.consumer_id = consumer;
  PERFORM pipeline_kafka._notify('consumers');
END $$;
COMMENT ON FUNCTION pipeline_kafka._bump(integer) IS 'Fences off every worker that works by the definition as it was.';

CREATE OR REPLACE FUNCTION pipeline_kafka._row(consumer integer, OUT consumer_id integer, OUT topic text, OUT relation regclass, OUT state text)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT c.id, c.topic, c.relation, pipeline_kafka._state(c) FROM pipeline_kafka.consumers c WHERE c.id = consumer
$$;
COMMENT ON FUNCTION pipeline_kafka._row(integer) IS 'What consume_begin and its kin give.';

CREATE OR REPLACE FUNCTION pipeline_kafka._defaults() RETURNS pipeline_kafka.consumers
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT jsonb_populate_record(NULL::pipeline_kafka.consumers, jsonb_build_object('cluster', 'default', 'owner', current_user,
    'format', 'json', 'batchsize', 10000, 'maxbytes', 32000000, 'timeout', 50, 'start', 'latest', 'mode', 'append', 'tombstones', 'ignore',
    'on_error', 'dead_letter', 'error_limit', 0.5, 'on_gap', 'stop', 'unknown_fields', 'ignore', 'options', '{}'::jsonb, 'enabled', true))
$$;
COMMENT ON FUNCTION pipeline_kafka._defaults() IS 'A consumer with every setting as it is when it is not given.';

CREATE OR REPLACE FUNCTION pipeline_kafka._tell_apart(consumer integer) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  other record;
BEGIN
  FOR other IN
    SELECT coalesce(c.relation::text, 'several relations') AS own, coalesce(o.relation::text, 'several relations') AS relation, c.topic,
        array_to_string(ARRAY[
          CASE WHEN o.owner <> c.owner THEN format('their owners are %I and %I', c.owner, o.owner) END,
          CASE WHEN o.group_id IS DISTINCT FROM c.group_id THEN format('their groups are %s and %s',
            coalesce(quote_literal(c.group_id), 'that of the worker'), coalesce(quote_literal(o.group_id), 'that of the worker')) END], ', ') AS why
      FROM pipeline_kafka.consumers c JOIN pipeline_kafka.consumers o
        ON o.cluster = c.cluster AND o.topic = c.topic AND o.together = c.together AND o.id <> c.id
      WHERE c.id = consumer AND (o.owner <> c.owner OR o.group_id IS DISTINCT FROM c.group_id)
      ORDER BY o.id
  LOOP
    RAISE NOTICE USING MESSAGE = format('the consumers of %L into %s and %s are not committed together: %s', other.topic, other.own, other.relation, other.why),
      HINT = 'Those that are committed together have one topic, group and owner: a transaction has one role, and a group deals out partitions.';
  END LOOP;
END $$;
COMMENT ON FUNCTION pipeline_kafka._tell_apart(integer) IS 'Says which consumers with the same together are not committed together, and why.';

CREATE OR REPLACE FUNCTION pipeline_kafka._update(old pipeline_kafka.consumers, new pipeline_kafka.consumers) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  unlike text;
BEGIN
  SELECT string_agg(format('%s was %s and is %s', o.key, coalesce(o.value, 'NULL'), coalesce(n.value, 'NULL')), ', ' ORDER BY o.key) INTO unlike
    FROM jsonb_each_text(to_jsonb(old)) o JOIN jsonb_each_text(to_jsonb(new)) n ON n.key = o.key
    WHERE o.value IS DISTINCT FROM n.value AND o.key <> ALL (ARRAY['enabled', 'state']);
  IF unlike IS NULL AND old.enabled = new.enabled AND old.state <> 'blocked' THEN
    RETURN;
  END IF;
  IF unlike IS NOT NULL THEN
    RAISE NOTICE USING MESSAGE = format('the consumer of %L into %s changes: %s', new.topic, coalesce(new.relation::text, 'several relations'), unlike);
  END IF;
  UPDATE pipeline_kafka.consumers c
  SET (relations, route, group_id, format, key_format, delimiter, quote, escape, batchsize, maxbytes, parallelism, timeout, start, mapping,
       mode, conflict_columns, version_column, tombstones, transform, on_error, error_limit, on_gap, unknown_fields, together, options, enabled)
    = (new.relations, new.route, new.group_id, new.format, new.key_format, new.delimiter, new.quote, new.escape, new.batchsize, new.maxbytes,
       new.parallelism, new.timeout, new.start, new.mapping, new.mode, new.conflict_columns, new.version_column, new.tombstones, new.transform,
       new.on_error, new.error_limit, new.on_gap, new.unknown_fields, new.together, new.options, new.enabled)
  WHERE c.id = new.id;
  PERFORM pipeline_kafka._bump(new.id);
  IF (new.together, new.group_id) IS DISTINCT FROM (old.together, old.group_id) THEN
    PERFORM pipeline_kafka._tell_apart(new.id);
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._update(pipeline_kafka.consumers, pipeline_kafka.consumers) IS 'Stores changed settings, if they did change.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_start(new pipeline_kafka.consumers, told text, start_offset bigint) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF start_offset IS NULL THEN
    RETURN CASE WHEN told IS NOT NULL THEN
      pipeline_kafka._check_position('start', told, ARRAY['earliest', 'latest', 'group', '-N']) END;
  END IF;
  IF told IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'start and start_offset are both given', HINT = 'Leave start_offset out.';
  END IF;
  IF start_offset IN (-1, -2) THEN
    RETURN CASE start_offset WHEN -1 THEN 'latest' ELSE 'earliest' END;
  END IF;
  IF start_offset >= 0 AND (SELECT count(*) = 1 AND max(p.partition) = 0 FROM pipeline_kafka.partitions p
                            WHERE p.cluster = new.cluster AND p.topic = new.topic) THEN
    RETURN jsonb_build_object('0', start_offset)::text;
  END IF;
  RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('start_offset is %s: an offset has meaning in one partition only', start_offset),
    HINT = format('Name the partitions: start => ''{"0": %s}''. -1 is the end of the log, -2 its beginning; start => ''-N'' takes the last N.', abs(start_offset));
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_start(pipeline_kafka.consumers, text, bigint) IS 'The start in its stored form; null: none was given.';

CREATE OR REPLACE FUNCTION pipeline_kafka._put(new pipeline_kafka.consumers, a_start text) RETURNS integer
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  old pipeline_kafka.consumers;
BEGIN
  SELECT * INTO old FROM pipeline_kafka.consumers c
    WHERE c.cluster = new.cluster AND c.topic = new.topic AND c.relation IS NOT DISTINCT FROM new.relation;
  IF NOT FOUND THEN
    new.start := coalesce(a_start, 'latest');
    new.state := CASE WHEN new.enabled THEN 'starting' ELSE 'paused' END;
    INSERT INTO pipeline_kafka.consumers (cluster, topic, relation, relations, route, owner, group_id, format, key_format, delimiter, quote,
      escape, batchsize, maxbytes, parallelism, timeout, start, mapping, mode, conflict_columns, version_column, tombstones, transform,
      on_error, error_limit, on_gap, unknown_fields, together, options, enabled, state)
    VALUES (new.cluster, new.topic, new.relation, new.relations, new.route, new.owner, new.group_id, new.format, new.key_format, new.delimiter,
      new.quote, new.escape, new.batchsize, new.maxbytes, new.parallelism, new.timeout, new.start, new.mapping, new.mode, new.conflict_columns,
      new.version_column, new.tombstones, new.transform, new.on_error, new.error_limit, new.on_gap, new.unknown_fields, new.together,
      new.options, new.enabled, new.state)
    ON CONFLICT (cluster, topic, (coalesce(relation, 0::regclass))) DO NOTHING RETURNING id INTO new.id;
    IF FOUND THEN
      PERFORM pipeline_kafka._notify('consumers');
      PERFORM pipeline_kafka._tell_apart(new.id);
      RETURN new.id;
    END IF;
  END IF;
  -- It is there, or another session has just made it.
  old := pipeline_kafka._find(new.topic, new.relation, new.cluster);
  IF a_start <> old.start AND (old.started_at IS NOT NULL OR EXISTS (SELECT FROM pipeline_kafka.offsets o WHERE o.consumer_id = old.id)) THEN
    RAISE EXCEPTION USING ERRCODE = '55000',
      MESSAGE = format('the consumer of %L into %s has a position already', old.topic, coalesce(old.relation::text, 'several relations')),
      HINT = format('Use set_offsets: SELECT * FROM pipeline_kafka.set_offsets(%L, %L, %L);', old.topic, old.relation, a_start);
  END IF;
  new.start := coalesce(a_start, old.start);
  new.id := old.id;
  new.owner := old.owner;
  new.topic_id := old.topic_id;
  new.started_at := old.started_at;
  new.state := old.state;
  new.state_detail := old.state_detail;
  new.state_since := old.state_since;
  new.blocked_partition := old.blocked_partition;
  new.blocked_offset := old.blocked_offset;
  new.config_version := old.config_version;
  new.created_at := old.created_at;
  PERFORM pipeline_kafka._update(old, new);
  RETURN old.id;
END $$;
COMMENT ON FUNCTION pipeline_kafka._put(pipeline_kafka.consumers, text) IS 'Makes a consumer, or gives one that is there new settings.';

CREATE OR REPLACE FUNCTION pipeline_kafka._given(settings jsonb) RETURNS jsonb
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(jsonb_object_agg(e.key, e.value) FILTER (WHERE e.value <> 'null'), '{}') FROM jsonb_each(settings) e
$$;
COMMENT ON FUNCTION pipeline_kafka._given(jsonb) IS 'The settings that are not null.';

CREATE OR REPLACE FUNCTION pipeline_kafka._consume(
  a_topic text, a_relation regclass, a_relations regclass[], a_transform regprocedure, a_start text, a_start_offset bigint, settings jsonb
) RETURNS integer
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  new pipeline_kafka.consumers;
  the_start text;
BEGIN
  PERFORM pipeline_kafka._check_topic(a_topic);
  new := jsonb_populate_record(pipeline_kafka._defaults(), pipeline_kafka._given(settings));
  new.topic := a_topic;
  new.relation := a_relation;
  new.relations := a_relations;
  the_start := pipeline_kafka._check_start(new, a_start, a_start_offset);
  IF a_transform IS NOT NULL THEN
    new.transform := pipeline_kafka._check_transform(a_relation, a_transform);
  END IF;
  PERFORM pipeline_kafka._check(new);
  RETURN pipeline_kafka._put(new, the_start);
END $$;
COMMENT ON FUNCTION pipeline_kafka._consume(text, regclass, regclass[], regprocedure, text, bigint, jsonb) IS 'Checks and stores what consume_begin was told.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_route(relations regclass[], route text) RETURNS regclass[]
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  list regclass[];
BEGIN
  SELECT array_agg(DISTINCT r) INTO list FROM unnest(relations) AS r WHERE r IS NOT NULL;
  IF list IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'the relations that messages may name are not given',
      DETAIL = 'A message must not decide by itself where it is written to.',
      HINT = 'relations => ''{TABLE1, TABLE2}'' lists them.';
  END IF;
  IF route IS NULL OR route !~ '^(key|header:.+|field:[^.]+([.][^.]+)*)$' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('invalid route %s', coalesce(quote_literal(route), 'NULL')),
      HINT = 'Allowed are: key, header:NAME, field:NAME, field:NAME.NAME.';
  END IF;
  RETURN list;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_route(regclass[], text) IS 'The relations of a stream-partitioned consumer, each once.';

CREATE OR REPLACE FUNCTION pipeline_kafka.consume_begin(
  topic text, relation regclass, group_id text DEFAULT NULL, format text DEFAULT 'json', delimiter text DEFAULT NULL,
  quote text DEFAULT NULL, escape text DEFAULT NULL, batchsize integer DEFAULT 10000, maxbytes integer DEFAULT 32000000,
  parallelism integer DEFAULT NULL, timeout integer DEFAULT 50, start_offset bigint DEFAULT NULL,
  start text DEFAULT NULL, mapping jsonb DEFAULT NULL, key_format text DEFAULT NULL, mode text DEFAULT 'append',
  conflict_columns text[] DEFAULT NULL, version_column text DEFAULT NULL, tombstones text DEFAULT 'ignore',
  transform regprocedure DEFAULT NULL, on_error text DEFAULT 'dead_letter', error_limit numeric DEFAULT 0.5,
  on_gap text DEFAULT 'stop', unknown_fields text DEFAULT 'ignore', together text DEFAULT NULL,
  cluster text DEFAULT 'default', enabled boolean DEFAULT true, options jsonb DEFAULT '{}'
) RETURNS TABLE (consumer_id integer, topic text, relation regclass, state text)
LANGUAGE sql VOLATILE AS $$
  SELECT r.* FROM pipeline_kafka._consume($1, $2, NULL, $20, $13, $12, pg_catalog.jsonb_build_object(
    'group_id', $3, 'format', $4, 'delimiter', $5, 'quote', $6, 'escape', $7, 'batchsize', $8, 'maxbytes', $9, 'parallelism', $10,
    'timeout', $11, 'mapping', $14, 'key_format', $15, 'mode', $16, 'conflict_columns', $17, 'version_column', $18, 'tombstones', $19,
    'on_error', $21, 'error_limit', $22, 'on_gap', $23, 'unknown_fields', $24, 'together', $25, 'cluster', $26, 'enabled', $27,
    'options', $28)) AS id, LATERAL pipeline_kafka._row(id) AS r
$$;
COMMENT ON FUNCTION pipeline_kafka.consume_begin(text, regclass, text, text, text, text, text, integer, integer, integer, integer, bigint, text, jsonb, text, text, text[], text, text, regprocedure, text, numeric, text, text, text, text, boolean, jsonb)
  IS 'Consumes a topic into a relation from now on. Called again, it gives the consumer these settings and resumes it; the position stays.';

CREATE OR REPLACE FUNCTION pipeline_kafka.consume_begin_stream_partitioned(
  topic text, relations regclass[] DEFAULT NULL, route text DEFAULT 'key', group_id text DEFAULT NULL, format text DEFAULT 'json',
  delimiter text DEFAULT NULL, quote text DEFAULT NULL, escape text DEFAULT NULL, batchsize integer DEFAULT 10000,
  maxbytes integer DEFAULT 32000000, parallelism integer DEFAULT NULL, timeout integer DEFAULT 50, start_offset bigint DEFAULT NULL,
  start text DEFAULT NULL, mapping jsonb DEFAULT NULL, key_format text DEFAULT NULL, mode text DEFAULT 'append',
  conflict_columns text[] DEFAULT NULL, version_column text DEFAULT NULL, tombstones text DEFAULT 'ignore',
  on_error text DEFAULT 'dead_letter', error_limit numeric DEFAULT 0.5, on_gap text DEFAULT 'stop',
  unknown_fields text DEFAULT 'ignore', together text DEFAULT NULL, cluster text DEFAULT 'default',
  enabled boolean DEFAULT true, options jsonb DEFAULT '{}'
) RETURNS TABLE (consumer_id integer, topic text, relation regclass, state text)
LANGUAGE sql VOLATILE AS $$
  SELECT r.* FROM pipeline_kafka._consume($1, NULL, pipeline_kafka._check_route($2, $3), NULL, $14, $13, pg_catalog.jsonb_build_object(
    'route', $3, 'group_id', $4, 'format', $5, 'delimiter', $6, 'quote', $7, 'escape', $8, 'batchsize', $9, 'maxbytes', $10,
    'parallelism', $11, 'timeout', $12, 'mapping', $15, 'key_format', $16, 'mode', $17, 'conflict_columns', $18, 'version_column', $19,
    'tombstones', $20, 'on_error', $21, 'error_limit', $22, 'on_gap', $23, 'unknown_fields', $24, 'together', $25, 'cluster', $26,
    'enabled', $27, 'options', $28)) AS id, LATERAL pipeline_kafka._row(id) AS r
$$;
COMMENT ON FUNCTION pipeline_kafka.consume_begin_stream_partitioned(text, regclass[], text, text, text, text, text, text, integer, integer, integer, integer, bigint, text, jsonb, text, text, text[], text, text, text, numeric, text, text, text, text, boolean, jsonb)
  IS 'Consumes a topic whose messages name the relation that they go to, out of those that are listed here. A message that names another one becomes a dead letter.';

CREATE OR REPLACE FUNCTION pipeline_kafka._switch(consumer pipeline_kafka.consumers, enabled boolean) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF consumer.enabled <> _switch.enabled THEN
    UPDATE pipeline_kafka.consumers c SET enabled = _switch.enabled WHERE c.id = consumer.id;
    PERFORM pipeline_kafka._bump(consumer.id);
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._switch(pipeline_kafka.consumers, boolean) IS 'Pauses or resumes a consumer.';

CREATE OR REPLACE FUNCTION pipeline_kafka._switch_all(enabled boolean) RETURNS SETOF integer
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  c pipeline_kafka.consumers;
BEGIN
  -- Row-level security leaves out those of other roles, because rows are locked.
  FOR c IN SELECT * FROM pipeline_kafka.consumers k WHERE k.enabled <> _switch_all.enabled ORDER BY k.id FOR UPDATE LOOP
    PERFORM pipeline_kafka._switch(c, _switch_all.enabled);
    RETURN NEXT c.id;
  END LOOP;
END $$;
COMMENT ON FUNCTION pipeline_kafka._switch_all(boolean) IS 'Pauses or resumes all consumers of the current role.';

CREATE OR REPLACE FUNCTION pipeline_kafka.consume_begin()
RETURNS TABLE (consumer_id integer, topic text, relation regclass, state text)
LANGUAGE sql VOLATILE AS $$ SELECT r.* FROM pipeline_kafka._switch_all(true) AS id, LATERAL pipeline_kafka._row(id) AS r $$;
COMMENT ON FUNCTION pipeline_kafka.consume_begin() IS 'Resumes all paused consumers of the current role where they stand.';

CREATE OR REPLACE FUNCTION pipeline_kafka.consume_end()
RETURNS TABLE (consumer_id integer, topic text, relation regclass, state text)
LANGUAGE sql VOLATILE AS $$ SELECT r.* FROM pipeline_kafka._switch_all(false) AS id, LATERAL pipeline_kafka._row(id) AS r $$;
COMMENT ON FUNCTION pipeline_kafka.consume_end() IS 'Pauses all consumers of the current role. Positions stay.';

CREATE OR REPLACE FUNCTION pipeline_kafka._pause(a_topic text, a_relation regclass, a_cluster text) RETURNS integer
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  c pipeline_kafka.consumers := pipeline_kafka._find(a_topic, a_relation, a_cluster);
BEGIN
  PERFORM pipeline_kafka._switch(c, false);
  RETURN c.id;
END $$;
COMMENT ON FUNCTION pipeline_kafka._pause(text, regclass, text) IS 'Pauses one consumer.';

CREATE OR REPLACE FUNCTION pipeline_kafka.consume_end(topic text, relation regclass, cluster text DEFAULT NULL)
RETURNS TABLE (consumer_id integer, topic text, relation regclass, state text)
LANGUAGE sql VOLATILE AS $$ SELECT r.* FROM pipeline_kafka._pause($1, $2, $3) AS id, LATERAL pipeline_kafka._row(id) AS r $$;
COMMENT ON FUNCTION pipeline_kafka.consume_end(text, regclass, text) IS 'Pauses a consumer. Its position stays: consume_begin() resumes it there.';

CREATE OR REPLACE FUNCTION pipeline_kafka.consume_end_stream_partitioned(topic text, cluster text DEFAULT NULL)
RETURNS TABLE (consumer_id integer, topic text, relation regclass, state text)
LANGUAGE sql VOLATILE AS $$ SELECT r.* FROM pipeline_kafka._pause($1, NULL, $2) AS id, LATERAL pipeline_kafka._row(id) AS r $$;
COMMENT ON FUNCTION pipeline_kafka.consume_end_stream_partitioned(text, text) IS 'Pauses a stream-partitioned consumer.';

CREATE OR REPLACE FUNCTION pipeline_kafka.drop_consumer(topic text, relation regclass, cluster text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  c pipeline_kafka.consumers := pipeline_kafka._find(drop_consumer.topic, drop_consumer.relation, drop_consumer.cluster);
  letters bigint := (SELECT count(*) FROM pipeline_kafka.errors e WHERE e.consumer_id = c.id AND NOT e.resolved);
BEGIN
  PERFORM FROM pipeline_kafka.offsets o WHERE o.consumer_id = c.id ORDER BY o.partition FOR UPDATE;
  DELETE FROM pipeline_kafka.consumers k WHERE k.id = c.id;
  IF letters > 0 THEN
    RAISE NOTICE USING MESSAGE = format('%s dead letters are dropped with the consumer', letters);
  END IF;
  PERFORM pipeline_kafka._notify('consumers');
END $$;
COMMENT ON FUNCTION pipeline_kafka.drop_consumer(text, regclass, text) IS 'Removes a consumer with its position, dead letters and replays. The rows stay.';

CREATE OR REPLACE FUNCTION pipeline_kafka._alter(a_topic text, a_relation regclass, settings jsonb, a_cluster text) RETURNS integer
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  known text[] := ARRAY['group_id', 'format', 'key_format', 'delimiter', 'quote', 'escape', 'batchsize', 'maxbytes', 'parallelism', 'timeout',
    'mapping', 'mode', 'conflict_columns', 'version_column', 'tombstones', 'transform', 'on_error', 'error_limit', 'on_gap', 'unknown_fields',
    'together', 'options', 'enabled', 'relations', 'route'];
  old pipeline_kafka.consumers := pipeline_kafka._find(a_topic, a_relation, a_cluster);
  new pipeline_kafka.consumers;
  unknown text;
BEGIN
  IF jsonb_typeof(settings) IS DISTINCT FROM 'object' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'settings is not an object', HINT = 'For example: {"batchsize": 5000, "on_error": "stop"}.';
  END IF;
  SELECT k INTO unknown FROM jsonb_object_keys(settings) AS k
    WHERE k <> ALL (known) OR (k IN ('relations', 'route') AND old.relations IS NULL) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('%s is no setting that can be changed', quote_literal(unknown)),
      HINT = CASE WHEN unknown IN ('start', 'start_offset') THEN 'Positions are changed by set_offsets.'
             ELSE format('Settings are: %s.', array_to_string(known, ', ')) END;
  END IF;
  -- What is null goes back to its default.
  new := jsonb_populate_record(old, (SELECT coalesce(jsonb_object_agg(k, to_jsonb(pipeline_kafka._defaults()) -> k), '{}')
    FROM jsonb_each(settings) AS s(k, v) WHERE v = 'null'));
  new := jsonb_populate_record(new, pipeline_kafka._given(settings));
  IF new.relations IS NOT NULL THEN
    new.relations := pipeline_kafka._check_route(new.relations, new.route);
  END IF;
  IF new.transform IS NOT NULL THEN
    new.transform := pipeline_kafka._check_transform(new.relation, new.transform::regprocedure);
  END IF;
  PERFORM pipeline_kafka._check(new);
  PERFORM pipeline_kafka._update(old, new);
  RETURN old.id;
END $$;
COMMENT ON FUNCTION pipeline_kafka._alter(text, regclass, jsonb, text) IS 'Changes some settings of a consumer.';

CREATE OR REPLACE FUNCTION pipeline_kafka.alter_consumer(topic text, relation regclass, settings jsonb, cluster text DEFAULT NULL)
RETURNS TABLE (consumer_id integer, topic text, relation regclass, state text)
LANGUAGE sql VOLATILE AS $$ SELECT r.* FROM pipeline_kafka._alter($1, $2, $3, $4) AS id, LATERAL pipeline_kafka._row(id) AS r $$;
COMMENT ON FUNCTION pipeline_kafka.alter_consumer(text, regclass, jsonb, text) IS 'Changes the settings that are named and leaves the others; null is the default. The position stays.';
