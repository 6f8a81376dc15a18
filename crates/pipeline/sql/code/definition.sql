-- Checks of a whole definition.

CREATE OR REPLACE FUNCTION pipeline_kafka._check_key(relation regclass, columns text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  wanted text[];
  missing text;
  kind "char" := (SELECT c.relkind FROM pg_class c WHERE c.oid = relation);
BEGIN
  IF columns IS NULL THEN
    IF NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = relation AND i.indisprimary AND i.indisvalid AND i.indimmediate) THEN
      RAISE EXCEPTION USING ERRCODE = '42P10',
        MESSAGE = format('%s has no primary key that could tell which row to update, and conflict_columns is not given', relation),
        HINT = format('CREATE UNIQUE INDEX ON %s (COLUMNS); and conflict_columns => ARRAY[COLUMNS], or ALTER TABLE %s ADD PRIMARY KEY (COLUMNS);', relation, relation);
    END IF;
    RETURN;
  END IF;
  SELECT array_agg(DISTINCT c ORDER BY c) INTO wanted FROM unnest(columns) AS c;
  IF wanted IS NULL OR array_position(wanted, NULL) IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'conflict_columns names no column';
  END IF;
  SELECT c INTO missing FROM unnest(wanted) AS c WHERE NOT EXISTS (
    SELECT FROM pg_attribute a WHERE a.attrelid = relation AND a.attname = c AND a.attnum > 0 AND NOT a.attisdropped) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = '42703', MESSAGE = format('conflict_columns: %s has no column %I', relation, missing);
  END IF;
  IF kind = 'v' THEN
    -- The server knows best which index of the table below can be used.
    EXECUTE format('EXPLAIN INSERT INTO %s SELECT * FROM %s WHERE false ON CONFLICT (%s) DO NOTHING', relation, relation,
      (SELECT string_agg(quote_ident(c), ', ') FROM unnest(wanted) AS c));
    RETURN;
  END IF;
  IF NOT EXISTS (
    SELECT FROM pg_index i WHERE i.indrelid = relation AND i.indisunique AND i.indisvalid AND i.indimmediate
      AND i.indpred IS NULL AND i.indexprs IS NULL
      AND wanted = (SELECT array_agg(a.attname::text ORDER BY a.attname::text) FROM unnest(i.indkey::smallint[]) WITH ORDINALITY AS k(attnum, place)
                    JOIN pg_attribute a ON a.attrelid = relation AND a.attnum = k.attnum WHERE k.place <= i.indnkeyatts)) THEN
    RAISE EXCEPTION USING ERRCODE = '42P10',
      MESSAGE = format('%s has no unique index on exactly (%s)', relation, (SELECT string_agg(quote_ident(c), ', ') FROM unnest(columns) AS c)),
      DETAIL = 'ON CONFLICT cannot use an index with a WHERE clause or on an expression, nor a deferrable constraint.',
      HINT = format('CREATE UNIQUE INDEX ON %s (%s);', relation, (SELECT string_agg(quote_ident(c), ', ') FROM unnest(columns) AS c));
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_key(regclass, text[]) IS 'Raises 42P10 unless ON CONFLICT can use a unique index over these columns; null: the primary key.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_version_column(relation regclass, version_column text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  type text := (SELECT format_type(a.atttypid, a.atttypmod) FROM pg_attribute a
    WHERE a.attrelid = relation AND a.attname = version_column AND a.attnum > 0 AND NOT a.attisdropped);
BEGIN
  IF type IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = '42703', MESSAGE = format('version_column: %s has no column %I', relation, version_column);
  END IF;
  BEGIN
    EXECUTE format('SELECT NULL::%s < NULL::%s', type, type);
  EXCEPTION WHEN undefined_function THEN
    RAISE EXCEPTION USING ERRCODE = '42883', MESSAGE = format('version_column: values of type %s cannot be compared', type),
      HINT = 'Take a number, a time or a text that grows with each change of a row.';
  END;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_version_column(regclass, text) IS 'Raises 42703 or 42883 unless the column tells older rows from newer ones.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_transform(relation regclass, transform regprocedure) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  p pg_proc;
BEGIN
  SELECT * INTO p FROM pg_proc f WHERE f.oid = transform;
  IF NOT FOUND OR p.prokind <> 'f' OR p.pronargs <> 1 OR p.proargtypes[0] <> 'jsonb'::regtype OR NOT p.proretset
     OR p.prorettype <> (SELECT c.reltype FROM pg_class c WHERE c.oid = relation) THEN
    RAISE EXCEPTION USING ERRCODE = '42883',
      MESSAGE = format('the function %s cannot be a transform into %s', transform, relation),
      HINT = format('Expected is %s(records jsonb) RETURNS SETOF %s. It is called with an array of objects that have key, value, headers, topic, partition, offset and timestamp.',
        coalesce(quote_ident(p.proname), 'f'), relation);
  END IF;
  IF NOT has_function_privilege(transform::oid, 'EXECUTE') THEN
    RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = format('the role %I lacks the privilege EXECUTE on %s', current_user, transform),
      HINT = format('GRANT EXECUTE ON FUNCTION %s TO %I;', transform, current_user);
  END IF;
  RETURN (SELECT format('%I.%I(jsonb)', n.nspname, p.proname) FROM pg_namespace n WHERE n.oid = p.pronamespace);
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_transform(regclass, regprocedure) IS 'The signature of a transform in its stored form.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_source(target text, source jsonb, key_format text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  told text := source #>> '{}';
BEGIN
  IF jsonb_typeof(source) IS DISTINCT FROM 'string'
     OR told !~ '^(\$([.][^.\[\]]+|\[[0-9]{1,9}\])*|key([.][^.\[\]]+|\[[0-9]{1,9}\])*|headers[.].+|topic|partition|offset|timestamp|=.*[^ ].*)$' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('mapping: %s is no source for the column %I', source, target),
      HINT = 'Sources are: $ (the value), $.a.b[0], key, key.a.b, headers.NAME, topic, partition, offset, timestamp, or = and an SQL expression over the other columns.';
  END IF;
  IF told ~ '^key[.\[]' AND coalesce(key_format, 'bytea') NOT IN ('json', 'avro', 'protobuf', 'json_schema') THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('mapping: %s looks into keys, which are not read as json', quote_literal(told)),
      HINT = 'Add key_format => ''json'', ''avro'', ''protobuf'' or ''json_schema''.';
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_source(text, jsonb, text) IS 'Raises 22023 unless a mapping may say so.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_mapping(relation regclass, mapping jsonb, key_format text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  entry record;
  a pg_attribute;
  typed text;
  probe refcursor;
  left_out text;
BEGIN
  IF jsonb_typeof(mapping) <> 'object' OR mapping = '{}' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'mapping is not an object of columns and their sources',
      HINT = 'For example: {"id": "$.order.id", "at": "timestamp", "doc": "$"}.';
  END IF;
  FOR entry IN SELECT m.key, m.value FROM jsonb_each(mapping) m LOOP
    SELECT * INTO a FROM pg_attribute t WHERE t.attrelid = relation AND t.attname = entry.key AND t.attnum > 0 AND NOT t.attisdropped;
    IF NOT FOUND THEN
      RAISE EXCEPTION USING ERRCODE = '42703', MESSAGE = format('mapping: %s has no column %I', relation, entry.key);
    END IF;
    IF a.attgenerated <> '' OR a.attidentity = 'a' THEN
      RAISE EXCEPTION USING ERRCODE = '428C9', MESSAGE = format('mapping: the column %I of %s is always generated', entry.key, relation),
        HINT = 'Leave it out.';
    END IF;
    PERFORM pipeline_kafka._check_source(entry.key, entry.value, key_format);
  END LOOP;
  SELECT string_agg(format('NULL::%s AS %I', format_type(t.atttypid, t.atttypmod), t.attname), ', ') INTO typed
    FROM jsonb_each_text(mapping) m JOIN pg_attribute t ON t.attrelid = relation AND t.attname = m.key AND t.attnum > 0
    WHERE left(m.value, 1) <> '=';
  FOR entry IN SELECT m.key, substr(m.value, 2) AS expression, format_type(t.atttypid, t.atttypmod) AS type
    FROM jsonb_each_text(mapping) m JOIN pg_attribute t ON t.attrelid = relation AND t.attname = m.key AND t.attnum > 0
    WHERE left(m.value, 1) = '='
  LOOP
    -- A cursor takes one statement and runs nothing before it is read.
    BEGIN
      OPEN probe FOR EXECUTE format(E'SELECT CAST((%s\n) AS %s) FROM (SELECT %s) AS columns', entry.expression, entry.type, coalesce(typed, ''));
      CLOSE probe;
    EXCEPTION WHEN syntax_error_or_access_rule_violation OR invalid_cursor_definition OR feature_not_supported OR data_exception THEN
      RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = format('mapping: the expression for the column %I: %s', entry.key, SQLERRM),
        HINT = 'It may use the other mapped columns, and functions that are not in pg_catalog under their schema.';
    END;
  END LOOP;
  SELECT string_agg(quote_ident(t.attname), ', ' ORDER BY t.attnum) INTO left_out
    FROM pg_attribute t JOIN pg_type y ON y.oid = t.atttypid
    WHERE t.attrelid = relation AND t.attnum > 0 AND NOT t.attisdropped AND t.attnotnull AND NOT t.atthasdef AND t.attidentity = ''
      AND y.typdefault IS NULL AND NOT mapping ? t.attname;
  IF left_out IS NOT NULL THEN
    RAISE WARNING USING MESSAGE = format('the mapping leaves out columns of %s that have to have a value: %s', relation, left_out),
      HINT = 'Unless a trigger fills them, every record becomes a dead letter (23502).';
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_mapping(regclass, jsonb, text) IS 'Raises unless each column of a mapping exists, can be written and has a source; expressions are prepared.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_separator(what text, value text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF value IS NOT NULL AND (octet_length(value) <> 1 OR value IN (E'\n', E'\r')) THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('%s has to be one byte and no line end, not %L', what, value);
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_separator(text, text) IS 'Raises 22023 unless it is one byte.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_schema(c pipeline_kafka.consumers, what text, form text, given text, named text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  schema jsonb := c.options -> given;
  parsed jsonb;
BEGIN
  IF c.options ? named AND (jsonb_typeof(c.options -> named) <> 'string' OR form <> 'protobuf' OR schema IS NULL) THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('the option %s is the name of a message in the option %s, for %s => ''protobuf''', named, given, what);
  END IF;
  IF form NOT IN ('avro', 'protobuf', 'json_schema') THEN
    IF schema IS NOT NULL THEN
      RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('the option %s does not go with %s => %L', given, what, form),
        HINT = 'Schemas belong to the formats avro, protobuf and json_schema.';
    END IF;
    RETURN;
  END IF;
  IF schema IS NULL THEN
    IF (SELECT k.registry_url FROM pipeline_kafka.clusters k WHERE k.name = c.cluster) IS NULL THEN
      RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = format('%s => %L needs a Schema Registry, and the cluster %L names none', what, form, c.cluster),
        HINT = format('SELECT pipeline_kafka.set_cluster(BOOTSTRAP_SERVERS, registry_url => ''http://HOST:8081''); or give the schema: options => ''{"%s": …}''.', given);
    END IF;
    RETURN;
  END IF;
  IF jsonb_typeof(schema) = 'string' AND form <> 'protobuf' THEN
    BEGIN
      parsed := (schema #>> '{}')::jsonb;
    EXCEPTION WHEN data_exception THEN
      RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('the option %s is no JSON: %s', given, SQLERRM);
    END;
  ELSIF jsonb_typeof(schema) <> 'string' AND (form = 'protobuf' OR jsonb_typeof(schema) NOT IN ('object', 'array')) THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('the option %s is no schema', given),
      HINT = CASE form WHEN 'protobuf' THEN 'It is the text of a .proto file.' ELSE 'It is a JSON object, or its text.' END;
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_schema(pipeline_kafka.consumers, text, text, text, text) IS 'Raises unless the schemas of keys or values are to be had.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_format(c pipeline_kafka.consumers) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pipeline_kafka._check_choice('format', c.format, ARRAY['json', 'text', 'csv', 'bytea', 'avro', 'protobuf', 'json_schema']);
  IF c.key_format IS NOT NULL THEN
    PERFORM pipeline_kafka._check_choice('key_format', c.key_format, ARRAY['json', 'text', 'bytea', 'avro', 'protobuf', 'json_schema']);
  END IF;
  IF c.format NOT IN ('text', 'csv') AND coalesce(c.delimiter, c.quote, c.escape) IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('the format %s has no delimiter, quote or escape', c.format),
      HINT = 'They belong to the formats text (delimiter) and csv.';
  END IF;
  IF c.format = 'text' AND coalesce(c.quote, c.escape) IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'the format text has no quote or escape', HINT = 'Take the format csv.';
  END IF;
  PERFORM pipeline_kafka._check_separator('delimiter', c.delimiter);
  PERFORM pipeline_kafka._check_separator('quote', c.quote);
  PERFORM pipeline_kafka._check_separator('escape', c.escape);
  IF c.format = 'csv' AND coalesce(c.delimiter, ',') = coalesce(c.quote, '"') THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'delimiter and quote are the same';
  END IF;
  IF c.format = 'text' AND strpos('\.abcdefghijklmnopqrstuvwxyz0123456789', coalesce(c.delimiter, E'\t')) > 0 THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('the format text cannot have the delimiter %L', c.delimiter);
  END IF;
  PERFORM pipeline_kafka._check_schema(c, 'format', c.format, 'schema', 'message');
  PERFORM pipeline_kafka._check_schema(c, CASE WHEN c.key_format IS NULL AND c.tombstones = 'delete' THEN 'format' ELSE 'key_format' END,
    coalesce(c.key_format, CASE WHEN c.tombstones = 'delete' THEN c.format ELSE 'bytea' END), 'key_schema', 'key_message');
  IF c.options ? 'framed' AND NOT c.options ?| ARRAY['schema', 'key_schema'] THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'the option framed goes with the option schema or key_schema',
      HINT = 'Messages whose schema is in the registry are always framed.';
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_format(pipeline_kafka.consumers) IS 'Raises unless format, delimiter, quote and escape go together.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_settings(c pipeline_kafka.consumers) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  unknown text;
BEGIN
  PERFORM pipeline_kafka._check_choice('mode', c.mode, ARRAY['append', 'ignore', 'upsert']);
  PERFORM pipeline_kafka._check_choice('tombstones', c.tombstones, ARRAY['ignore', 'delete']);
  PERFORM pipeline_kafka._check_choice('on_error', c.on_error, ARRAY['dead_letter', 'stop']);
  PERFORM pipeline_kafka._check_choice('on_gap', c.on_gap, ARRAY['stop', 'earliest']);
  PERFORM pipeline_kafka._check_choice('unknown_fields', c.unknown_fields, ARRAY['ignore', 'error', 'collect']);
  PERFORM pipeline_kafka._check_range('batchsize', c.batchsize, 1, 2147483647);
  PERFORM pipeline_kafka._check_range('maxbytes', c.maxbytes, 1, 2147483647);
  PERFORM pipeline_kafka._check_range('timeout', c.timeout, 0, 2147483647);
  PERFORM pipeline_kafka._check_range('error_limit', c.error_limit, 0, 1);
  IF c.parallelism IS NOT NULL THEN
    PERFORM pipeline_kafka._check_range('parallelism', c.parallelism, 1, 1000);
  END IF;
  IF c.group_id = '' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'group_id is empty', HINT = 'NULL takes the group that the worker was started with.';
  END IF;
  IF c.tombstones = 'delete' AND c.mode <> 'upsert' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('tombstones => ''delete'' does not go with mode => %L', c.mode),
      HINT = 'Rows are deleted by their key: mode => ''upsert''.';
  END IF;
  IF c.version_column IS NOT NULL AND c.mode <> 'upsert' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('version_column does not go with mode => %L', c.mode),
      HINT = 'It decides which of two rows of one key is newer: mode => ''upsert''.';
  END IF;
  IF c.conflict_columns IS NOT NULL AND c.mode = 'append' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'conflict_columns does not go with mode => ''append''', HINT = 'Take mode => ''upsert'' or ''ignore''.';
  END IF;
  IF c.together = '' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'together is empty', HINT = 'Give the consumers that are committed together one name.';
  END IF;
  SELECT o INTO unknown FROM jsonb_object_keys(CASE WHEN jsonb_typeof(c.options) = 'object' THEN c.options ELSE '{"": 1}' END) AS o
    WHERE o <> ALL (pipeline_kafka._options()) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('unknown option %s', quote_literal(unknown)),
      HINT = format('Options are an object with: %s.', array_to_string(pipeline_kafka._options(), ', '));
  END IF;
  SELECT o.key INTO unknown FROM jsonb_each(c.options) AS o
    WHERE o.key IN ('mirror', 'framed', 'auto_evolve') AND jsonb_typeof(o.value) <> 'boolean' LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('the option %s is neither true nor false', unknown);
  END IF;
  PERFORM pipeline_kafka._check_fields(c);
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_settings(pipeline_kafka.consumers) IS 'Raises unless each setting has a value that it may have, and they go together.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_fields(c pipeline_kafka.consumers) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  by_name boolean := c.format NOT IN ('text', 'csv', 'bytea') AND c.mapping IS NULL AND c.transform IS NULL;
BEGIN
  IF (c.unknown_fields = 'collect') <> (c.options ? 'collect_column') OR jsonb_typeof(c.options -> 'collect_column') <> 'string' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'unknown_fields => ''collect'' and the option collect_column go together',
      HINT = 'The option is the name of a column of type jsonb: options => ''{"collect_column": "rest"}''.';
  END IF;
  IF c.unknown_fields = 'collect' AND NOT by_name THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'unknown_fields => ''collect'' needs fields that go to columns by name',
      HINT = 'Take it without a mapping and without a transform, with json, avro, protobuf or json_schema.';
  END IF;
  IF c.unknown_fields = 'error' AND (c.mapping IS NOT NULL OR c.transform IS NOT NULL) THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('unknown_fields => ''error'' does not go with a %s', CASE WHEN c.mapping IS NULL THEN 'transform' ELSE 'mapping' END),
      HINT = 'It is about fields that go to columns by name.';
  END IF;
  IF c.options -> 'auto_evolve' = 'true' AND (NOT by_name OR c.format = 'json' OR c.unknown_fields <> 'ignore') THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'the option auto_evolve needs fields that have types and go to columns by name',
      HINT = 'Take it without a mapping and without a transform, with avro, protobuf or json_schema and unknown_fields => ''ignore''.';
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_fields(pipeline_kafka.consumers) IS 'Raises unless what is done with fields without a column goes with the rest.';

CREATE OR REPLACE FUNCTION pipeline_kafka._options() RETURNS text[]
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT ARRAY['mirror', 'schema', 'message', 'key_schema', 'key_message', 'framed', 'auto_evolve', 'collect_column']
$$;
COMMENT ON FUNCTION pipeline_kafka._options() IS 'The options of a consumer. mirror: false keeps positions out of the Kafka group. schema, message, key_schema and key_message stand in for a registry; framed: messages begin with an id all the same. auto_evolve adds columns for new fields; collect_column takes the fields without a column.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_place(c pipeline_kafka.consumers, relation regclass) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r pg_class := (SELECT p FROM pg_class p WHERE p.oid = relation);
  collects text := c.options ->> 'collect_column';
  type oid := (SELECT coalesce(nullif(y.typbasetype, 0), y.oid) FROM pg_attribute a JOIN pg_type y ON y.oid = a.atttypid
    WHERE a.attrelid = relation AND a.attname = collects AND a.attnum > 0 AND NOT a.attisdropped);
BEGIN
  IF c.unknown_fields = 'collect' AND type IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = '42703', MESSAGE = format('collect_column: %s has no column %I', relation, collects);
  END IF;
  IF c.unknown_fields = 'collect' AND type NOT IN ('json'::regtype, 'jsonb'::regtype) THEN
    RAISE EXCEPTION USING ERRCODE = '42804', MESSAGE = format('collect_column: the column %I of %s is of type %s, not jsonb', collects, relation, type::regtype);
  END IF;
  IF c.options -> 'auto_evolve' = 'true' AND r.relkind NOT IN ('r', 'p') THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('the option auto_evolve needs a table, and %s is none', relation);
  END IF;
  IF c.options -> 'auto_evolve' = 'true' AND NOT pg_has_role(current_user, r.relowner, 'USAGE') THEN
    RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = format('the role %I does not own %s, and so cannot add columns', current_user, relation),
      HINT = 'Call it as the owner of the table, or without the option auto_evolve.';
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_place(pipeline_kafka.consumers, regclass) IS 'Raises unless fields without a column have a place to go to.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_target(c pipeline_kafka.consumers, relation regclass) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  columns integer;
BEGIN
  PERFORM pipeline_kafka._check_relation(relation);
  PERFORM pipeline_kafka._check_rights(relation, c.mode, c.tombstones = 'delete');
  IF c.mode = 'upsert' OR c.conflict_columns IS NOT NULL THEN
    PERFORM pipeline_kafka._check_key(relation, c.conflict_columns);
  END IF;
  IF c.version_column IS NOT NULL THEN
    PERFORM pipeline_kafka._check_version_column(relation, c.version_column);
  END IF;
  IF c.options -> 'auto_evolve' = 'true' OR c.unknown_fields = 'collect' THEN
    PERFORM pipeline_kafka._check_place(c, relation);
  END IF;
  IF c.mapping IS NOT NULL AND (c.format IN ('text', 'csv') OR c.transform IS NOT NULL) THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('a mapping does not go with %s',
      CASE WHEN c.transform IS NULL THEN format('the format %s, whose columns go by their places', c.format) ELSE 'a transform, which makes whole rows' END);
  END IF;
  IF c.mapping IS NOT NULL THEN
    PERFORM pipeline_kafka._check_mapping(relation, c.mapping, c.key_format);
  END IF;
  IF c.format = 'bytea' AND c.mapping IS NULL AND c.transform IS NULL THEN
    SELECT count(*) INTO columns FROM pg_attribute a WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped
      AND a.attgenerated = '' AND a.attidentity = '';
    IF columns <> 1 THEN
      RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('the format bytea fills one column, and %s has %s', relation, columns),
        HINT = 'Say which: mapping => ''{"COLUMN": "$"}''.';
    END IF;
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_target(pipeline_kafka.consumers, regclass) IS 'Raises unless that consumer can write to the relation.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check(c pipeline_kafka.consumers) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  relation regclass;
BEGIN
  PERFORM pipeline_kafka._check_topic(c.topic);
  PERFORM pipeline_kafka._check_cluster(c.cluster);
  PERFORM pipeline_kafka._check_format(c);
  PERFORM pipeline_kafka._check_settings(c);
  IF c.relations IS NULL THEN
    IF c.relation IS NULL THEN
      RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'relation is not given';
    END IF;
    PERFORM pipeline_kafka._check_target(c, c.relation);
  ELSE
    IF c.format IN ('text', 'csv', 'bytea') AND c.route ^@ 'field:' THEN
      RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('the format %s has no fields that name the relation', c.format),
        HINT = 'Take the route key or header:NAME, or a format with fields.';
    END IF;
    FOREACH relation IN ARRAY c.relations LOOP
      PERFORM pipeline_kafka._check_target(c, relation);
    END LOOP;
  END IF;
  PERFORM pipeline_kafka._check_worker();
END $$;
COMMENT ON FUNCTION pipeline_kafka._check(pipeline_kafka.consumers) IS 'Raises unless that definition can work.';
