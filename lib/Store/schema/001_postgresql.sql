-- A trigger refuses UPDATE, DELETE and TRUNCATE of records, and the service's role, heddle_service, is not
-- granted them.
CREATE FUNCTION heddle_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the table % is append-only', TG_TABLE_NAME;
END $$;
DO $$
DECLARE
  name TEXT;
BEGIN
  FOREACH name IN ARRAY ARRAY['measurement', 'race', 'canary', 'choice', 'rejection', 'bundle', 'event'] LOOP
    EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON %I'
                   ' FOR EACH ROW EXECUTE FUNCTION heddle_append_only()', name);
    EXECUTE format('CREATE TRIGGER no_truncate BEFORE TRUNCATE ON %I'
                   ' FOR EACH STATEMENT EXECUTE FUNCTION heddle_append_only()', name);
  END LOOP;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'heddle_service') THEN
    GRANT USAGE ON SCHEMA public TO heddle_service;
    GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO heddle_service;
    GRANT UPDATE ON counter, tenant, job, device, lease, head, lookup TO heddle_service;
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO heddle_service;
  END IF;
END $$;
