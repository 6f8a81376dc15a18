-- Checks of single values. Each raises; none writes.

CREATE OR REPLACE FUNCTION pipeline_kafka._check_topic(topic text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF topic IS NULL OR topic !~ '^[a-zA-Z0-9._-]{1,249}$' OR topic IN ('.', '..') THEN
    RAISE EXCEPTION USING ERRCODE = '22023',
      MESSAGE = format('invalid topic name %s', coalesce(quote_literal(left(topic, 260)), 'NULL')),
      HINT = 'A topic name has 1 to 249 characters out of a-z, A-Z, 0-9, ".", "_" and "-", and is not "." or "..".';
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_topic(text) IS 'Raises 22023 unless Kafka could have a topic of that name.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_choice(what text, value text, choices text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF value IS NULL OR value <> ALL (choices) THEN
    RAISE EXCEPTION USING ERRCODE = '22023',
      MESSAGE = format('invalid %s %s', what, coalesce(quote_literal(value), 'NULL')),
      HINT = format('Allowed are: %s.', array_to_string(choices, ', '));
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_choice(text, text, text[]) IS 'Raises 22023 unless the value is one of the choices.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_range(what text, value numeric, low numeric, high numeric) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF value IS NULL OR value = 'NaN' OR value < low OR value > high THEN
    RAISE EXCEPTION USING ERRCODE = '22023',
      MESSAGE = format('%s is %s', what, coalesce(value::text, 'NULL')),
      HINT = format('It has to be between %s and %s.', low, high);
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_range(text, numeric, numeric, numeric) IS 'Raises 22023 unless the value is within the range.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_cluster(cluster text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM pipeline_kafka.clusters c WHERE c.name = cluster) THEN
    RAISE EXCEPTION USING ERRCODE = '42704',
      MESSAGE = format('the cluster %s is not defined', coalesce(quote_literal(cluster), 'NULL')),
      HINT = CASE WHEN cluster = 'default' THEN 'SELECT pipeline_kafka.set_cluster(''HOST:9092'');'
             ELSE format('SELECT pipeline_kafka.set_cluster(''HOST:9092'', name => %L);', cluster) END;
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_cluster(text) IS 'Raises 42704 unless the cluster is defined.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_map(what text, value text) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  map jsonb;
  entry record;
BEGIN
  BEGIN
    map := value::jsonb;
  EXCEPTION WHEN data_exception THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('%s is not a JSON map: %s', what, value),
      HINT = 'A map names offsets by partition: {"0": 42, "1": 17}.';
  END;
  IF jsonb_typeof(map) <> 'object' OR map = '{}' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('%s names no partition: %s', what, value),
      HINT = 'A map names offsets by partition: {"0": 42, "1": 17}.';
  END IF;
  FOR entry IN SELECT e.key, e.value FROM jsonb_each(map) e LOOP
    IF entry.key !~ '^[0-9]{1,10}$' OR entry.key::bigint > 2147483647 THEN
      RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('%s: %s is no partition', what, quote_literal(entry.key)),
        HINT = 'Partitions are whole numbers from 0.';
    END IF;
    IF jsonb_typeof(entry.value) <> 'number' OR entry.value::text !~ '^[0-9]{1,18}$' THEN
      RAISE EXCEPTION USING ERRCODE = '22023',
        MESSAGE = format('%s: %s is no offset in partition %s', what, entry.value, entry.key),
        HINT = 'Offsets are whole numbers from 0.';
    END IF;
  END LOOP;
  RETURN (SELECT jsonb_object_agg(e.key::integer::text, e.value)::text FROM jsonb_each(map) e);
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_map(text, text) IS 'A map of partitions to offsets in its stored form.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_position(what text, value text, words text[]) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  told text := btrim(coalesce(value, ''));
  choices text := array_to_string(words || ARRAY['a time', 'a map {"0": 42}'], ', ');
  at timestamptz;
BEGIN
  IF told = '' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('%s is not given', what),
      HINT = format('Allowed are: %s.', choices);
  END IF;
  IF lower(told) = ANY (words) THEN
    RETURN lower(told);
  END IF;
  IF left(told, 1) = '{' THEN
    RETURN pipeline_kafka._check_map(what, told);
  END IF;
  IF told ~ '^-0*[1-9][0-9]{0,17}$' AND '-N' = ANY (words) THEN
    RETURN told::bigint::text;
  END IF;
  IF told ~ '^[+-]?[0-9]+$' THEN
    RAISE EXCEPTION USING ERRCODE = '22023',
      MESSAGE = format('%s is %s: an offset has meaning in one partition only', what, told),
      HINT = 'Name the partitions: ''{"0": ' || ltrim(told, '+-') || '}''. Allowed are: ' || choices || '.';
  END IF;
  IF lower(told) IN ('earliest', 'latest', 'group') THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('%s cannot be %s', what, quote_literal(told)),
      HINT = format('Allowed are: %s.', choices);
  END IF;
  BEGIN
    at := told::timestamptz;
  EXCEPTION WHEN data_exception THEN
    RAISE EXCEPTION USING ERRCODE = '22007', MESSAGE = format('%s cannot be understood: %s', what, quote_literal(told)),
      HINT = format('Allowed are: %s.', choices);
  END;
  IF at > clock_timestamp() OR NOT isfinite(at) THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('%s lies in the future: %s', what, at),
      HINT = 'A time finds the first record at or after it, so it has to be in the past.';
  END IF;
  -- Kafka gives other meanings to times before 1970.
  at := greatest(date_trunc('milliseconds', at), to_timestamp(0));
  RETURN to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_position(text, text, text[]) IS 'A position in its stored form: one of the words, -N, a time in UTC, or a map.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_relation(relation regclass) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  c pg_class;
  unlogged regclass;
BEGIN
  SELECT * INTO c FROM pg_class p WHERE p.oid = relation;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = '42P01', MESSAGE = format('relation %s does not exist', coalesce(relation::text, 'NULL'));
  END IF;
  IF c.relpersistence = 't' THEN
    RAISE EXCEPTION USING ERRCODE = '0A000', MESSAGE = format('%s is a temporary table', relation),
      HINT = 'Workers have sessions of their own and cannot see it; use a table that stays.';
  END IF;
  IF c.relkind NOT IN ('r', 'p', 'v', 'f') OR (pg_relation_is_updatable(relation, true) & 8) = 0 THEN
    RAISE EXCEPTION USING ERRCODE = '42809', MESSAGE = format('%s is not a table, partitioned table or view that rows can be inserted into', relation),
      DETAIL = CASE c.relkind WHEN 'i' THEN 'It is an index.' WHEN 'I' THEN 'It is an index.' WHEN 'S' THEN 'It is a sequence.'
        WHEN 'c' THEN 'It is a composite type.' WHEN 'm' THEN 'It is a materialized view.' WHEN 't' THEN 'It is a TOAST table.'
        WHEN 'f' THEN 'It is a foreign table whose server takes no rows.' ELSE 'It is a view that cannot be written to.' END,
      HINT = CASE WHEN c.relkind = 'v' THEN 'Give it an INSTEAD OF INSERT trigger, or name the table below.' ELSE 'Name a table.' END;
  END IF;
  IF c.relnamespace::regnamespace::text IN ('pipeline_kafka', 'pg_catalog', 'information_schema') THEN
    RAISE EXCEPTION USING ERRCODE = '42809', MESSAGE = format('%s belongs to the schema %s, which keeps its own tables', relation, c.relnamespace::regnamespace),
      HINT = 'Name a table of your own.';
  END IF;
  IF c.relkind = 'f' THEN
    RAISE WARNING USING MESSAGE = format('%s is a foreign table: its rows are committed elsewhere, and not together with the positions', relation),
      HINT = 'After a crash some may be there twice. Into a local table each comes once.';
  END IF;
  SELECT t.relid INTO unlogged FROM pg_partition_tree(relation) t JOIN pg_class p ON p.oid = t.relid AND p.relpersistence = 'u' ORDER BY t.level LIMIT 1;
  IF c.relpersistence = 'u' OR FOUND THEN
    unlogged := coalesce(unlogged, relation);
    RAISE WARNING USING MESSAGE = format('%s is UNLOGGED: a crash of the server empties it while the positions stay', unlogged),
      HINT = format('Its rows are not exactly once then. ALTER TABLE %s SET LOGGED;', unlogged);
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_relation(regclass) IS 'Raises unless workers can insert rows into the relation.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_rights(relation regclass, mode text, deletes boolean) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  needed text[] := ARRAY['INSERT'];
  privilege text;
  schema oid := (SELECT c.relnamespace FROM pg_class c WHERE c.oid = relation);
BEGIN
  IF NOT has_schema_privilege(schema, 'USAGE') THEN
    RAISE EXCEPTION USING ERRCODE = '42501',
      MESSAGE = format('the role %I lacks the privilege USAGE on the schema of %s', current_user, relation),
      HINT = format('GRANT USAGE ON SCHEMA %s TO %I;', schema::regnamespace, current_user);
  END IF;
  IF mode = 'upsert' THEN
    needed := needed || ARRAY['SELECT', 'UPDATE'];
  END IF;
  IF deletes THEN
    needed := needed || ARRAY['DELETE'];
  END IF;
  FOREACH privilege IN ARRAY needed LOOP
    CONTINUE WHEN has_table_privilege(relation, privilege);
    CONTINUE WHEN privilege <> 'DELETE' AND has_any_column_privilege(relation, privilege);
    RAISE EXCEPTION USING ERRCODE = '42501',
      MESSAGE = format('the role %I lacks the privilege %s on %s', current_user, privilege, relation),
      HINT = format('GRANT %s ON %s TO %I;', array_to_string(needed, ', '), relation, current_user);
  END LOOP;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_rights(regclass, text, boolean) IS 'Raises 42501 unless the current role may write to the relation in that mode.';

CREATE OR REPLACE FUNCTION pipeline_kafka._can_become(who name, whom name) RETURNS boolean
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT EXISTS (SELECT FROM pg_roles a, pg_roles b WHERE a.rolname = who AND b.rolname = whom
    AND pg_has_role(a.oid, b.oid, CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END))
$$;
COMMENT ON FUNCTION pipeline_kafka._can_become(name, name) IS 'Whether the one role may SET ROLE to the other; false where either does not exist.';

CREATE OR REPLACE FUNCTION pipeline_kafka._way_to_act(whom name, who text) RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN EXISTS (SELECT FROM pg_roles r WHERE r.rolname = whom AND r.rolsuper)
    THEN format('%I is a superuser, whose rights are given to nobody for this: drop_consumer, SET ROLE to the role that owns the relation, and consume_begin', whom)
    ELSE format('GRANT %I TO %s;', whom, who) END
$$;
COMMENT ON FUNCTION pipeline_kafka._way_to_act(name, text) IS 'How a role comes to act as another one. Membership in a superuser is not proposed.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_worker() RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  roles name[];
BEGIN
  SELECT array_agg(DISTINCT r) INTO roles FROM (
    SELECT i.worker_role AS r FROM pipeline_kafka.installation i
    UNION SELECT w.role FROM pipeline_kafka.workers w WHERE pipeline_kafka._alive(w.heartbeat_at)) AS known;
  IF roles IS NULL OR EXISTS (SELECT FROM unnest(roles) AS r WHERE pipeline_kafka._can_become(r, current_user)) THEN
    RETURN;
  END IF;
  RAISE EXCEPTION USING ERRCODE = '42501',
    MESSAGE = format('the role of the workers, %I, is no member of the role %I', roles[1], current_user),
    DETAIL = 'Workers write as the role that calls consume_begin, so that its grants and row-level security apply.',
    HINT = CASE WHEN (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user)
      THEN 'SET ROLE to the role that owns the relation and call again.'
      ELSE format('GRANT %I TO %I;', current_user, roles[1]) END;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_worker() IS 'Raises 42501 unless a worker can write as the current role.';
