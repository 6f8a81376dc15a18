-- Version 1 of the schema: who may do what. One GRANT USAGE ON SCHEMA pipeline_kafka TO role lets a
-- role use it: everything below is granted to PUBLIC, and nobody reaches it without that.
-- Row-level security keeps each role to its own consumers. The owner of the schema and the roles of
-- workers (grant_worker) see everything. Clusters stay with the owner, because they decide where the
-- worker's own secrets are sent.

CREATE FUNCTION pipeline_kafka._may_act_as(role_name name) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce((SELECT pg_has_role(r.oid, 'MEMBER') FROM pg_roles r WHERE r.rolname = role_name), false)
$$;
COMMENT ON FUNCTION pipeline_kafka._may_act_as(name) IS 'Whether the current role is that role or a member of it; false for a role that does not exist any more.';

CREATE FUNCTION pipeline_kafka._is_mine(consumer integer) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT EXISTS (SELECT FROM pipeline_kafka.consumers c
                 WHERE c.id = consumer AND pipeline_kafka._may_act_as(c.owner))
$$;
COMMENT ON FUNCTION pipeline_kafka._is_mine(integer) IS 'Whether the current role may act as the owner of that consumer.';

GRANT SELECT ON pipeline_kafka.installation, pipeline_kafka.migrations, pipeline_kafka.consumers,
  pipeline_kafka.offsets, pipeline_kafka.replays, pipeline_kafka.replay_offsets,
  pipeline_kafka.errors, pipeline_kafka.gaps, pipeline_kafka.partitions, pipeline_kafka.workers,
  pipeline_kafka.rates, pipeline_kafka.states,
  pipeline_kafka.outbox_senders TO PUBLIC;
GRANT SELECT (name, bootstrap_servers, registry_url, config_version, updated_at)
  ON pipeline_kafka.clusters TO PUBLIC;
GRANT USAGE ON SEQUENCE pipeline_kafka.config_versions TO PUBLIC;
GRANT INSERT, UPDATE, DELETE ON pipeline_kafka.consumers, pipeline_kafka.replays TO PUBLIC;
GRANT UPDATE ON pipeline_kafka.offsets, pipeline_kafka.replay_offsets, pipeline_kafka.errors TO PUBLIC;
GRANT INSERT ON pipeline_kafka.offsets, pipeline_kafka.errors, pipeline_kafka.gaps TO PUBLIC;
GRANT DELETE ON pipeline_kafka.errors, pipeline_kafka.gaps, pipeline_kafka.states TO PUBLIC;
GRANT INSERT, SELECT (id) ON pipeline_kafka.outbox TO PUBLIC;

ALTER TABLE pipeline_kafka.consumers ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON pipeline_kafka.consumers FOR SELECT USING (true);
CREATE POLICY own ON pipeline_kafka.consumers
  USING (pipeline_kafka._may_act_as(owner)) WITH CHECK (pipeline_kafka._may_act_as(owner));

ALTER TABLE pipeline_kafka.replays ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON pipeline_kafka.replays FOR SELECT USING (true);
CREATE POLICY own ON pipeline_kafka.replays
  USING (pipeline_kafka._is_mine(consumer_id))
  WITH CHECK (pipeline_kafka._is_mine(consumer_id) AND pipeline_kafka._may_act_as(owner));

ALTER TABLE pipeline_kafka.offsets ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON pipeline_kafka.offsets FOR SELECT USING (true);
CREATE POLICY own ON pipeline_kafka.offsets
  USING (pipeline_kafka._is_mine(consumer_id)) WITH CHECK (pipeline_kafka._is_mine(consumer_id));

ALTER TABLE pipeline_kafka.replay_offsets ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON pipeline_kafka.replay_offsets FOR SELECT USING (true);
CREATE POLICY own ON pipeline_kafka.replay_offsets FOR UPDATE
  USING (EXISTS (SELECT FROM pipeline_kafka.replays r
                 WHERE r.id = replay_id AND pipeline_kafka._is_mine(r.consumer_id)));

-- Dead letters hold the bytes of records.
ALTER TABLE pipeline_kafka.errors ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON pipeline_kafka.errors
  USING (pipeline_kafka._is_mine(consumer_id)) WITH CHECK (pipeline_kafka._is_mine(consumer_id));

ALTER TABLE pipeline_kafka.gaps ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON pipeline_kafka.gaps FOR SELECT USING (true);
CREATE POLICY own ON pipeline_kafka.gaps
  USING (pipeline_kafka._is_mine(consumer_id)) WITH CHECK (pipeline_kafka._is_mine(consumer_id));

ALTER TABLE pipeline_kafka.states ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON pipeline_kafka.states FOR SELECT USING (true);
CREATE POLICY own ON pipeline_kafka.states FOR DELETE USING (pipeline_kafka._is_mine(consumer_id));

CREATE FUNCTION pipeline_kafka.grant_worker(role_name name) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  t record;
BEGIN
  EXECUTE format('GRANT USAGE ON SCHEMA pipeline_kafka TO %I', role_name);
  EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pipeline_kafka TO %I', role_name);
  EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA pipeline_kafka TO %I', role_name);
  FOR t IN SELECT c.oid::regclass AS name FROM pg_class c
           WHERE c.relnamespace = 'pipeline_kafka'::regnamespace AND c.relrowsecurity
  LOOP
    -- A policy of constant truth costs nothing where positions move.
    EXECUTE format('DROP POLICY IF EXISTS %I ON %s', left('worker ' || role_name, 63), t.name);
    EXECUTE format('CREATE POLICY %I ON %s TO %I USING (true) WITH CHECK (true)',
                   left('worker ' || role_name, 63), t.name, role_name);
  END LOOP;
END $$;
COMMENT ON FUNCTION pipeline_kafka.grant_worker(name) IS 'Gives a role what copycat pg run needs in this schema. Beside that it has to be a member of the roles that own consumers. To be called by the owner of the schema.';
