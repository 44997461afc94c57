-- SQLite, schema 1: the tables of postgresql_001.sql, word for word but for types and triggers.
-- Times are milliseconds since 1970.

-- The last serial.
CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL);
INSERT INTO counter VALUES('serial', 0);

CREATE TABLE tenant(
  tenant    TEXT PRIMARY KEY,
  budget_ms INTEGER,                       -- NULL: no limit
  spent_ms  INTEGER NOT NULL DEFAULT 0);

CREATE TABLE token(
  hash    TEXT PRIMARY KEY,               -- BLAKE2b-256, hexadecimal
  name    TEXT NOT NULL UNIQUE,
  tenant  TEXT NOT NULL,
  scopes  TEXT NOT NULL,                  -- words with a space between
  created INTEGER NOT NULL,
  revoked INTEGER);

CREATE TABLE campaign(
  campaign INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant   TEXT NOT NULL,
  class    TEXT NOT NULL,
  note     TEXT,
  created  INTEGER NOT NULL);

CREATE TABLE job(
  job        INTEGER PRIMARY KEY AUTOINCREMENT,
  product    TEXT NOT NULL,
  class      TEXT NOT NULL,
  policy     TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('queued', 'leased', 'done', 'failed', 'cancelled')),
  priority   INTEGER NOT NULL,
  tenant     TEXT NOT NULL,               -- who pays
  attempt    INTEGER NOT NULL DEFAULT 0,
  lease      INTEGER,                      -- the last one
  not_before INTEGER NOT NULL DEFAULT 0,
  why        TEXT,
  created    INTEGER NOT NULL,
  ended      INTEGER);
-- At most one live job for a product, class and policy.
CREATE UNIQUE INDEX job_live ON job(product, class, policy) WHERE state IN ('queued', 'leased');
CREATE INDEX job_states ON job(class, state);
CREATE INDEX job_queue ON job(class, priority DESC, job) WHERE state = 'queued';

-- Which jobs a campaign made or joined.
CREATE TABLE member(
  campaign INTEGER NOT NULL REFERENCES campaign,
  job      INTEGER NOT NULL REFERENCES job,
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
  seen     INTEGER NOT NULL);

CREATE TABLE lease(
  lease       INTEGER PRIMARY KEY AUTOINCREMENT,
  job         INTEGER NOT NULL REFERENCES job,
  request     TEXT NOT NULL UNIQUE,       -- the claim's, so that it can be repeated
  token       TEXT NOT NULL,              -- the name of the claimer's; '': none
  device      TEXT NOT NULL,
  agent       TEXT NOT NULL,
  build       TEXT NOT NULL,
  environment TEXT NOT NULL,              -- the claim's device and build, JSON
  granted     INTEGER NOT NULL,
  renewed     INTEGER NOT NULL,
  until       INTEGER NOT NULL,
  ended       INTEGER,
  how         TEXT,                       -- done, carried, failed, suspect, expired, cancelled, busy, …
  charged     INTEGER NOT NULL DEFAULT 0);
-- At most one live lease for a job, and for a GPU.
CREATE UNIQUE INDEX lease_live_job ON lease(job) WHERE ended IS NULL;
CREATE UNIQUE INDEX lease_live_device ON lease(device) WHERE ended IS NULL;
CREATE INDEX lease_uncharged ON lease(lease) WHERE charged = 0 AND ended IS NOT NULL;
CREATE INDEX lease_device ON lease(device, lease);

CREATE TABLE measurement(
  lease         INTEGER NOT NULL REFERENCES lease,
  seq           INTEGER NOT NULL,
  schedule      TEXT NOT NULL,
  verdict       TEXT NOT NULL,
  why           TEXT,
  us            REAL,
  us_min        REAL,
  us_max        REAL,
  sustained_us  REAL,
  predicted_us  REAL,
  error         REAL,
  power_w       REAL,
  sm_mhz        INTEGER,
  temperature_c REAL,
  throttle      INTEGER,
  cubin         TEXT,
  begin_ms      REAL,
  end_ms        REAL,
  PRIMARY KEY(lease, seq));

-- The end of a lease with a race: what was raced, what was decided, and of what it was decided, so
-- that it can be decided again.
CREATE TABLE race(
  lease      INTEGER PRIMARY KEY REFERENCES lease,
  product    TEXT NOT NULL,
  class      TEXT NOT NULL,
  policy     TEXT NOT NULL,
  device     TEXT NOT NULL,
  build      TEXT NOT NULL,
  at         INTEGER NOT NULL,
  suspect    TEXT,
  decision   TEXT NOT NULL,
  incumbent  INTEGER,                      -- the version that it raced against; NULL: none
  version    INTEGER,                      -- that it made; NULL: none
  serial     INTEGER NOT NULL,             -- rejections up to this one counted
  n_legal    INTEGER,
  n_measured INTEGER,
  throttle   INTEGER,
  body       TEXT NOT NULL);              -- JSON
CREATE INDEX race_product ON race(product, class, policy, lease);

CREATE TABLE canary(
  lease           INTEGER PRIMARY KEY REFERENCES lease,
  device          TEXT NOT NULL,
  begin_read_us   REAL,
  begin_kernel_us REAL,
  end_read_us     REAL,
  end_kernel_us   REAL);
CREATE INDEX canary_device ON canary(device, lease);

CREATE TABLE choice(
  product          TEXT NOT NULL,
  class            TEXT NOT NULL,
  policy           TEXT NOT NULL,
  version          INTEGER NOT NULL,
  schedule         TEXT NOT NULL,
  default_schedule TEXT NOT NULL,
  us               REAL NOT NULL,
  default_us       REAL NOT NULL,
  mode             TEXT NOT NULL,
  device           TEXT NOT NULL,
  driver           TEXT,
  at               INTEGER NOT NULL,
  build            TEXT NOT NULL,
  cubin            TEXT,
  lease            INTEGER NOT NULL REFERENCES lease,
  origin           TEXT NOT NULL,
  PRIMARY KEY(product, class, policy, version));

CREATE TABLE rejection(
  product  TEXT NOT NULL,
  class    TEXT NOT NULL,
  policy   TEXT NOT NULL,
  version  INTEGER NOT NULL,
  schedule TEXT NOT NULL,
  serial   INTEGER NOT NULL,
  PRIMARY KEY(product, class, policy, version));

-- What is current: the one table about choices that is updated.
CREATE TABLE head(
  product TEXT NOT NULL,
  class   TEXT NOT NULL,
  policy  TEXT NOT NULL,
  version INTEGER NOT NULL,
  serial  INTEGER NOT NULL,
  pinned  INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(product, class, policy));
CREATE INDEX head_serial ON head(serial);

CREATE TABLE bundle(
  bundle    INTEGER PRIMARY KEY AUTOINCREMENT,
  at        INTEGER NOT NULL,
  serial    INTEGER NOT NULL,
  choices   INTEGER NOT NULL,
  hash      TEXT NOT NULL,
  signature TEXT NOT NULL,
  note      TEXT,
  body      TEXT NOT NULL);

CREATE TABLE event(
  event INTEGER PRIMARY KEY AUTOINCREMENT,
  at    INTEGER NOT NULL,
  kind  TEXT NOT NULL,
  who   TEXT,
  job   INTEGER,
  lease INTEGER,
  text  TEXT NOT NULL);

-- How often products were looked up.
CREATE TABLE lookup(
  product TEXT NOT NULL,
  class   TEXT NOT NULL,
  asked   INTEGER NOT NULL,
  missed  INTEGER NOT NULL,
  last    INTEGER NOT NULL,
  PRIMARY KEY(product, class));

CREATE TRIGGER measurement_no_update BEFORE UPDATE ON measurement
BEGIN SELECT RAISE(ABORT, 'the table measurement is append-only'); END;
CREATE TRIGGER measurement_no_delete BEFORE DELETE ON measurement
BEGIN SELECT RAISE(ABORT, 'the table measurement is append-only'); END;
CREATE TRIGGER race_no_update BEFORE UPDATE ON race
BEGIN SELECT RAISE(ABORT, 'the table race is append-only'); END;
CREATE TRIGGER race_no_delete BEFORE DELETE ON race
BEGIN SELECT RAISE(ABORT, 'the table race is append-only'); END;
CREATE TRIGGER canary_no_update BEFORE UPDATE ON canary
BEGIN SELECT RAISE(ABORT, 'the table canary is append-only'); END;
CREATE TRIGGER canary_no_delete BEFORE DELETE ON canary
BEGIN SELECT RAISE(ABORT, 'the table canary is append-only'); END;
CREATE TRIGGER choice_no_update BEFORE UPDATE ON choice
BEGIN SELECT RAISE(ABORT, 'the table choice is append-only'); END;
CREATE TRIGGER choice_no_delete BEFORE DELETE ON choice
BEGIN SELECT RAISE(ABORT, 'the table choice is append-only'); END;
CREATE TRIGGER rejection_no_update BEFORE UPDATE ON rejection
BEGIN SELECT RAISE(ABORT, 'the table rejection is append-only'); END;
CREATE TRIGGER rejection_no_delete BEFORE DELETE ON rejection
BEGIN SELECT RAISE(ABORT, 'the table rejection is append-only'); END;
CREATE TRIGGER bundle_no_update BEFORE UPDATE ON bundle
BEGIN SELECT RAISE(ABORT, 'the table bundle is append-only'); END;
CREATE TRIGGER bundle_no_delete BEFORE DELETE ON bundle
BEGIN SELECT RAISE(ABORT, 'the table bundle is append-only'); END;
CREATE TRIGGER event_no_update BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'the table event is append-only'); END;
CREATE TRIGGER event_no_delete BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'the table event is append-only'); END;
