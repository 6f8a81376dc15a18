-- Kafka clusters.

CREATE OR REPLACE FUNCTION pipeline_kafka._notify(what text) RETURNS void
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$ SELECT pg_notify('pipeline_kafka', what) $$;
COMMENT ON FUNCTION pipeline_kafka._notify(text) IS 'Tells the workers, with the commit, what has changed.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_servers(bootstrap_servers text) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  server text;
  servers text[] := '{}';
BEGIN
  FOREACH server IN ARRAY string_to_array(coalesce(bootstrap_servers, ''), ',') LOOP
    server := btrim(server);
    CONTINUE WHEN server = '';
    IF server !~ '^([A-Za-z_]+://)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$' THEN
      RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('%L is no address of a Kafka broker', server),
        HINT = 'Addresses are HOST:PORT, separated by commas; two or three are enough.';
    END IF;
    servers := servers || server;
  END LOOP;
  IF servers = '{}' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'no address of a Kafka broker is given',
      HINT = 'Addresses are HOST:PORT, separated by commas; two or three are enough.';
  END IF;
  RETURN array_to_string(servers, ',');
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_servers(text) IS 'A list of brokers in its stored form.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_properties(what text, properties jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  entry record;
BEGIN
  IF jsonb_typeof(properties) IS DISTINCT FROM 'object' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('%s is not an object of names and values', what),
      HINT = 'For example: {"security.protocol": "SASL_SSL", "sasl.password": "env:KAFKA_PASSWORD"}.';
  END IF;
  FOR entry IN SELECT p.key, p.value FROM jsonb_each(properties) p LOOP
    IF jsonb_typeof(entry.value) NOT IN ('string', 'number', 'boolean') THEN
      RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('%s: the value of %s is neither a text nor a number nor true or false', what, quote_literal(entry.key));
    END IF;
    IF what = 'properties' AND entry.key IN ('bootstrap.servers', 'group.id', 'enable.auto.commit', 'auto.offset.reset', 'isolation.level') THEN
      RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('%s: %s is set by the worker', what, entry.key),
        HINT = 'See bootstrap_servers, and group_id, start and on_gap of consume_begin.';
    END IF;
    -- Where a secret comes from, or how it is asked for, is none.
    IF entry.key ~* '(password|secret|token|jaas|key\.pem|credential|user\.?info)' AND entry.key !~* '(credentials\.source|endpoint\.url|credential\.provider\.class)$' AND entry.value #>> '{}' !~ '^(env|file):' AND entry.value #>> '{}' <> '' THEN
      RAISE WARNING USING MESSAGE = format('%s: %s looks like a secret in plain text', what, entry.key),
        HINT = 'Everyone who may read this table or a dump of it sees it. env:NAME and file:PATH are read by the worker.';
    END IF;
  END LOOP;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_properties(text, jsonb) IS 'Raises unless it is an object of plain values; warns of secrets.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_may_define() RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  privilege text;
BEGIN
  FOREACH privilege IN ARRAY ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE'] LOOP
    CONTINUE WHEN has_table_privilege('pipeline_kafka.clusters', privilege);
    RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = format('the role %I lacks the privilege %s on pipeline_kafka.clusters', current_user, privilege),
      DETAIL = 'Clusters decide where the secrets of workers are sent.',
      HINT = format('The owner of the schema defines them, or says: GRANT SELECT, INSERT, UPDATE, DELETE ON pipeline_kafka.clusters TO %I;', current_user);
  END LOOP;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_may_define() IS 'Raises 42501 unless the current role may change clusters.';

CREATE OR REPLACE FUNCTION pipeline_kafka._check_no_registry(cluster text, registry_properties jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  needs text;
BEGIN
  IF registry_properties <> '{}' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'registry_properties without a registry_url',
      HINT = 'registry_url => ''http://HOST:8081''.';
  END IF;
  -- A call that moves the brokers gives the registry too, or the consumers that read by it would stand still.
  SELECT format('the consumer of %L into %s', c.topic, coalesce(c.relation::text, 'several relations')) INTO needs
    FROM pipeline_kafka.consumers c
    WHERE c.cluster = _check_no_registry.cluster AND (c.format IN ('avro', 'protobuf', 'json_schema') AND NOT c.options ? 'schema'
      OR coalesce(c.key_format, CASE c.tombstones WHEN 'delete' THEN c.format END) IN ('avro', 'protobuf', 'json_schema') AND NOT c.options ? 'key_schema')
    ORDER BY c.id LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = format('%s needs the Schema Registry of the cluster %L', needs, cluster),
      DETAIL = 'What a call of set_cluster does not name becomes its default.', HINT = 'Give registry_url and registry_properties again.';
  END IF;
END $$;
COMMENT ON FUNCTION pipeline_kafka._check_no_registry(text, jsonb) IS 'Raises if a cluster without a registry has properties of one, or consumers that need one.';

CREATE OR REPLACE FUNCTION pipeline_kafka.set_cluster(
  bootstrap_servers text, properties jsonb DEFAULT '{}', registry_url text DEFAULT NULL,
  registry_properties jsonb DEFAULT '{}', name text DEFAULT 'default'
) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  servers text := pipeline_kafka._check_servers(set_cluster.bootstrap_servers);
BEGIN
  PERFORM pipeline_kafka._check_may_define();
  PERFORM pipeline_kafka._check_properties('properties', coalesce(set_cluster.properties, '{}'));
  PERFORM pipeline_kafka._check_properties('registry_properties', coalesce(set_cluster.registry_properties, '{}'));
  IF coalesce(set_cluster.name, '') !~ '^[A-Za-z0-9._-]{1,100}$' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('invalid name of a cluster: %s', coalesce(quote_literal(set_cluster.name), 'NULL')),
      HINT = 'A name has 1 to 100 characters out of a-z, A-Z, 0-9, ".", "_" and "-".';
  END IF;
  -- As in bootstrap.servers, spaces around a comma mean nothing.
  registry_url := regexp_replace(btrim(set_cluster.registry_url), '\s*,\s*', ',', 'g');
  IF set_cluster.registry_url !~ '^https?://[^ ,@]+(,https?://[^ ,@]+)*$' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = CASE WHEN set_cluster.registry_url LIKE '%@%' THEN 'registry_url has a login in it'
        ELSE format('registry_url is no http or https address: %L', set_cluster.registry_url) END,
      HINT = CASE WHEN set_cluster.registry_url LIKE '%@%'
        THEN 'registry_properties => ''{"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "env:REGISTRY_LOGIN"}'', with USER:PASSWORD in the worker''s environment.'
        ELSE 'One address, or several separated by commas: http://HOST:8081.' END;
  END IF;
  IF coalesce(set_cluster.registry_properties, '{}') ? 'schema.registry.url' THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'registry_properties: schema.registry.url is the argument registry_url';
  END IF;
  IF set_cluster.registry_url IS NULL THEN
    PERFORM pipeline_kafka._check_no_registry(set_cluster.name, coalesce(set_cluster.registry_properties, '{}'));
  END IF;
  INSERT INTO pipeline_kafka.clusters AS c (name, bootstrap_servers, properties, registry_url, registry_properties)
  VALUES (set_cluster.name, servers, coalesce(set_cluster.properties, '{}'), set_cluster.registry_url, coalesce(set_cluster.registry_properties, '{}'))
  ON CONFLICT ON CONSTRAINT clusters_pkey DO UPDATE
  SET bootstrap_servers = excluded.bootstrap_servers, properties = excluded.properties, registry_url = excluded.registry_url,
      registry_properties = excluded.registry_properties, config_version = nextval('pipeline_kafka.config_versions'), updated_at = now();
  PERFORM pipeline_kafka._notify('clusters');
END $$;
COMMENT ON FUNCTION pipeline_kafka.set_cluster(text, jsonb, text, jsonb, text) IS 'Defines a Kafka cluster, or changes it. Needs rights on the table clusters.';

CREATE OR REPLACE FUNCTION pipeline_kafka.add_broker(host text, cluster text DEFAULT 'default') RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  server text := pipeline_kafka._check_servers(host);
  list text;
BEGIN
  PERFORM pipeline_kafka._check_may_define();
  SELECT c.bootstrap_servers INTO list FROM pipeline_kafka.clusters c WHERE c.name = cluster FOR UPDATE;
  IF NOT FOUND THEN
    PERFORM pipeline_kafka.set_cluster(server, name => cluster);
    RETURN server;
  END IF;
  IF string_to_array(list, ',') && string_to_array(server, ',') THEN
    RAISE EXCEPTION USING ERRCODE = '42710', MESSAGE = format('the cluster %L has the broker %s already', cluster, server), DETAIL = format('Its brokers are %s.', list);
  END IF;
  list := list || ',' || server;
  UPDATE pipeline_kafka.clusters c SET bootstrap_servers = list, config_version = nextval('pipeline_kafka.config_versions'), updated_at = now()
    WHERE c.name = cluster;
  PERFORM pipeline_kafka._notify('clusters');
  RETURN list;
END $$;
COMMENT ON FUNCTION pipeline_kafka.add_broker(text, text) IS 'Adds an address to the brokers of a cluster, which is made if there is none. Gives the list.';

CREATE OR REPLACE FUNCTION pipeline_kafka.remove_broker(host text, cluster text DEFAULT 'default') RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  list text;
  remaining text[];
BEGIN
  PERFORM pipeline_kafka._check_may_define();
  SELECT c.bootstrap_servers INTO list FROM pipeline_kafka.clusters c WHERE c.name = cluster FOR UPDATE;
  remaining := array_remove(string_to_array(list, ','), btrim(host));
  IF list IS NULL OR remaining = string_to_array(list, ',') THEN
    RAISE EXCEPTION USING ERRCODE = '42704', MESSAGE = format('the cluster %L has no broker %s', cluster, coalesce(host, 'NULL')),
      DETAIL = coalesce('Its brokers are ' || list || '.', 'It is not defined.');
  END IF;
  IF remaining = '{}' THEN
    IF EXISTS (SELECT FROM pipeline_kafka.consumers k WHERE k.cluster = remove_broker.cluster) THEN
      RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = format('%s is the last broker of the cluster %L, which has consumers', host, cluster),
        HINT = 'Add the new broker first, or drop the consumers.';
    END IF;
    DELETE FROM pipeline_kafka.clusters c WHERE c.name = cluster;
  ELSE
    UPDATE pipeline_kafka.clusters c SET bootstrap_servers = array_to_string(remaining, ','),
        config_version = nextval('pipeline_kafka.config_versions'), updated_at = now()
      WHERE c.name = cluster;
  END IF;
  PERFORM pipeline_kafka._notify('clusters');
  RETURN array_to_string(remaining, ',');
END $$;
COMMENT ON FUNCTION pipeline_kafka.remove_broker(text, text) IS 'Takes an address from the brokers of a cluster; with the last one goes the cluster. Gives the list.';
