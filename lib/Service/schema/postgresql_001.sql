-- PostgreSQL, schema 1. Times are milliseconds since 1970 by this database's clock.
-- Tables that record what happened are append-only: a trigger refuses UPDATE, DELETE and TRUNCATE,
-- and the service's role, heddle_service, is not granted them (the end of this file).

-- The last serial. Whoever changes a choice takes this row's lock last, so that serials become
-- visible in order: a reader that asks for what is newer than S never misses one.
CREATE TABLE counter(name TEXT PRIMARY KEY, value BIGINT NOT NULL);
INSERT INTO counter VALUES('serial', 0);

CREATE TABLE tenant(
  tenant    TEXT PRIMARY KEY,
  budget_ms BIGINT,                       -- NULL: no limit
  spent_ms  BIGINT NOT NULL DEFAULT 0);

CREATE TABLE token(
  hash    TEXT PRIMARY KEY,               -- BLAKE2b-256, hexadecimal
  name    TEXT NOT NULL UNIQUE,
  tenant  TEXT NOT NULL,
  scopes  TEXT NOT NULL,                  -- words with a space between
  created BIGINT NOT NULL,
  revoked BIGINT);

CREATE TABLE campaign(
  campaign BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant   TEXT NOT NULL,
  class    TEXT NOT NULL,
  note     TEXT,
  created  BIGINT NOT NULL);

CREATE TABLE job(
  job        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  product    TEXT NOT NULL,
  class      TEXT NOT NULL,
  policy     TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('queued', 'leased', 'done', 'failed', 'cancelled')),
  priority   INTEGER NOT NULL,
  tenant     TEXT NOT NULL,               -- who pays
  attempt    INTEGER NOT NULL DEFAULT 0,
  lease      BIGINT,                      -- the last one
  not_before BIGINT NOT NULL DEFAULT 0,
  why        TEXT,
  created    BIGINT NOT NULL,
  ended      BIGINT);
-- At most one live job for a product, class and policy.
CREATE UNIQUE INDEX job_live ON job(product, class, policy) WHERE state IN ('queued', 'leased');
CREATE INDEX job_states ON job(class, state);
CREATE INDEX job_queue ON job(class, priority DESC, job) WHERE state = 'queued';

-- Which jobs a campaign made or joined.
CREATE TABLE member(
  campaign BIGINT NOT NULL REFERENCES campaign,
  job      BIGINT NOT NULL REFERENCES job,
  PRIMARY KEY(campaign, job));
CREATE INDEX member_job ON member(job);

CREATE TABLE device(
  uuid     TEXT PRIMARY KEY,
  name     TEXT NOT NULL,
  class    TEXT NOT NULL,
  driver   TEXT,
  agent    TEXT NOT NULL,
  build    TEXT NOT NULL,
  scripted INTEGER NOT NULL,
  seen     BIGINT NOT NULL);

CREATE TABLE lease(
  lease       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  job         BIGINT NOT NULL REFERENCES job,
  request     TEXT NOT NULL UNIQUE,       -- the claim's, so that it can be repeated
  token       TEXT NOT NULL,              -- the name of the claimer's; '': none
  device      TEXT NOT NULL,
  agent       TEXT NOT NULL,
  build       TEXT NOT NULL,
  environment TEXT NOT NULL,              -- the claim's device and build, JSON
  granted     BIGINT NOT NULL,
  renewed     BIGINT NOT NULL,
  until       BIGINT NOT NULL,
  ended       BIGINT,
  how         TEXT,                       -- done, carried, failed, suspect, expired, cancelled, busy, …
  charged     INTEGER NOT NULL DEFAULT 0);
-- At most one live lease for a job, and for a GPU.
CREATE UNIQUE INDEX lease_live_job ON lease(job) WHERE ended IS NULL;
CREATE UNIQUE INDEX lease_live_device ON lease(device) WHERE ended IS NULL;
CREATE INDEX lease_uncharged ON lease(lease) WHERE charged = 0 AND ended IS NOT NULL;
CREATE INDEX lease_device ON lease(device, lease);

CREATE TABLE measurement(
  lease         BIGINT NOT NULL REFERENCES lease,
  seq           INTEGER NOT NULL,
  schedule      TEXT NOT NULL,
  verdict       TEXT NOT NULL,
  why           TEXT,
  us            DOUBLE PRECISION,
  us_min        DOUBLE PRECISION,
  us_max        DOUBLE PRECISION,
  sustained_us  DOUBLE PRECISION,
  predicted_us  DOUBLE PRECISION,
  error         DOUBLE PRECISION,
  power_w       DOUBLE PRECISION,
  sm_mhz        INTEGER,
  temperature_c DOUBLE PRECISION,
  throttle      BIGINT,
  cubin         TEXT,
  begin_ms      DOUBLE PRECISION,
  end_ms        DOUBLE PRECISION,
  PRIMARY KEY(lease, seq));

-- The end of a lease with a race: what was raced, what was decided, and of what it was decided, so
-- that it can be decided again.
CREATE TABLE race(
  lease      BIGINT PRIMARY KEY REFERENCES lease,
  product    TEXT NOT NULL,
  class      TEXT NOT NULL,
  policy     TEXT NOT NULL,
  device     TEXT NOT NULL,
  build      TEXT NOT NULL,
  at         BIGINT NOT NULL,
  suspect    TEXT,
  decision   TEXT NOT NULL,
  incumbent  BIGINT,                      -- the version that it raced against; NULL: none
  version    BIGINT,                      -- that it made; NULL: none
  serial     BIGINT NOT NULL,             -- rejections up to this one counted
  n_legal    BIGINT,
  n_measured BIGINT,
  throttle   BIGINT,
  body       TEXT NOT NULL);              -- JSON
CREATE INDEX race_product ON race(product, class, policy, lease);

CREATE TABLE canary(
  lease           BIGINT PRIMARY KEY REFERENCES lease,
  device          TEXT NOT NULL,
  begin_read_us   DOUBLE PRECISION,
  begin_kernel_us DOUBLE PRECISION,
  end_read_us     DOUBLE PRECISION,
  end_kernel_us   DOUBLE PRECISION);
CREATE INDEX canary_device ON canary(device, lease);

CREATE TABLE choice(
  product          TEXT NOT NULL,
  class            TEXT NOT NULL,
  policy           TEXT NOT NULL,
  version          BIGINT NOT NULL,
  schedule         TEXT NOT NULL,
  default_schedule TEXT NOT NULL,
  us               DOUBLE PRECISION NOT NULL,
  default_us       DOUBLE PRECISION NOT NULL,
  mode             TEXT NOT NULL,
  device           TEXT NOT NULL,
  driver           TEXT,
  at               BIGINT NOT NULL,
  build            TEXT NOT NULL,
  cubin            TEXT,
  lease            BIGINT NOT NULL REFERENCES lease,
  origin           TEXT NOT NULL,
  PRIMARY KEY(product, class, policy, version));

CREATE TABLE rejection(
  product  TEXT NOT NULL,
  class    TEXT NOT NULL,
  policy   TEXT NOT NULL,
  version  BIGINT NOT NULL,
  schedule TEXT NOT NULL,
  serial   BIGINT NOT NULL,
  PRIMARY KEY(product, class, policy, version));

-- What is current: the one table about choices that is updated.
CREATE TABLE head(
  product TEXT NOT NULL,
  class   TEXT NOT NULL,
  policy  TEXT NOT NULL,
  version BIGINT NOT NULL,
  serial  BIGINT NOT NULL,
  pinned  INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(product, class, policy));
CREATE INDEX head_serial ON head(serial);

CREATE TABLE bundle(
  bundle    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at        BIGINT NOT NULL,
  serial    BIGINT NOT NULL,
  choices   BIGINT NOT NULL,
  hash      TEXT NOT NULL,
  signature TEXT NOT NULL,
  note      TEXT,
  body      TEXT NOT NULL);

CREATE TABLE event(
  event BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at    BIGINT NOT NULL,
  kind  TEXT NOT NULL,
  who   TEXT,
  job   BIGINT,
  lease BIGINT,
  text  TEXT NOT NULL);

-- How often products were looked up.
CREATE TABLE lookup(
  product TEXT NOT NULL,
  class   TEXT NOT NULL,
  asked   BIGINT NOT NULL,
  missed  BIGINT NOT NULL,
  last    BIGINT NOT NULL,
  PRIMARY KEY(product, class));

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
