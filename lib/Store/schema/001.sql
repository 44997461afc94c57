-- Schema 1, of both databases; types in braces are the driver's. Times are milliseconds since 1970 by the
-- database's clock. Tables that record what happened are append-only (001_postgresql.sql, 001_sqlite.sql).
-- oldest: 1

-- The last serial. Whoever changes a choice takes this row's lock last, so that serials become
-- visible in order: a reader that asks for what is newer than S never misses one.
CREATE TABLE counter(name TEXT PRIMARY KEY, value {int} NOT NULL);
INSERT INTO counter VALUES('serial', 0);

CREATE TABLE tenant(
  tenant    TEXT PRIMARY KEY,
  budget_ms {int},                       -- NULL: no limit
  spent_ms  {int} NOT NULL DEFAULT 0);

CREATE TABLE token(
  hash    TEXT PRIMARY KEY,               -- BLAKE2b-256, hexadecimal
  name    TEXT NOT NULL UNIQUE,
  tenant  TEXT NOT NULL,
  scopes  TEXT NOT NULL,                  -- words with a space between
  created {int} NOT NULL,
  revoked {int});

CREATE TABLE campaign(
  campaign {id},
  tenant   TEXT NOT NULL,
  class    TEXT NOT NULL,
  note     TEXT,
  created  {int} NOT NULL);

CREATE TABLE job(
  job        {id},
  product    TEXT NOT NULL,
  class      TEXT NOT NULL,
  policy     TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('queued', 'leased', 'done', 'failed', 'cancelled')),
  priority   INTEGER NOT NULL,
  tenant     TEXT NOT NULL,               -- who pays
  attempt    INTEGER NOT NULL DEFAULT 0,
  lease      {int},                      -- the last one
  not_before {int} NOT NULL DEFAULT 0,
  why        TEXT,
  created    {int} NOT NULL,
  ended      {int});
-- At most one live job for a product, class and policy.
CREATE UNIQUE INDEX job_live ON job(product, class, policy) WHERE state IN ('queued', 'leased');
CREATE INDEX job_states ON job(class, state);
CREATE INDEX job_queue ON job(class, priority DESC, job) WHERE state = 'queued';

-- Which jobs a campaign made or joined.
CREATE TABLE member(
  campaign {int} NOT NULL REFERENCES campaign,
  job      {int} NOT NULL REFERENCES job,
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
  seen     {int} NOT NULL);

CREATE TABLE lease(
  lease       {id},
  job         {int} NOT NULL REFERENCES job,
  request     TEXT NOT NULL UNIQUE,       -- the claim's, so that it can be repeated
  token       TEXT NOT NULL,              -- the name of the claimer's; '': none
  device      TEXT NOT NULL,
  agent       TEXT NOT NULL,
  build       TEXT NOT NULL,
  environment TEXT NOT NULL,              -- the claim's device and build, JSON
  granted     {int} NOT NULL,
  renewed     {int} NOT NULL,
  until       {int} NOT NULL,
  ended       {int},
  how         TEXT,                       -- done, carried, failed, suspect, expired, cancelled, busy, …
  charged     INTEGER NOT NULL DEFAULT 0);
-- At most one live lease for a job, and for a GPU.
CREATE UNIQUE INDEX lease_live_job ON lease(job) WHERE ended IS NULL;
CREATE UNIQUE INDEX lease_live_device ON lease(device) WHERE ended IS NULL;
CREATE INDEX lease_uncharged ON lease(lease) WHERE charged = 0 AND ended IS NOT NULL;
CREATE INDEX lease_device ON lease(device, lease);

CREATE TABLE measurement(
  lease         {int} NOT NULL REFERENCES lease,
  seq           INTEGER NOT NULL,
  schedule      TEXT NOT NULL,
  verdict       TEXT NOT NULL,
  why           TEXT,
  us            {real},
  us_min        {real},
  us_max        {real},
  sustained_us  {real},
  predicted_us  {real},
  error         {real},
  power_w       {real},
  sm_mhz        INTEGER,
  temperature_c {real},
  throttle      {int},
  cubin         TEXT,
  begin_ms      {real},
  end_ms        {real},
  PRIMARY KEY(lease, seq));

-- The end of a lease with a race: what was raced, what was decided, and of what it was decided, so
-- that it can be decided again.
CREATE TABLE race(
  lease      {int} PRIMARY KEY REFERENCES lease,
  product    TEXT NOT NULL,
  class      TEXT NOT NULL,
  policy     TEXT NOT NULL,
  device     TEXT NOT NULL,
  build      TEXT NOT NULL,
  at         {int} NOT NULL,
  suspect    TEXT,
  decision   TEXT NOT NULL,
  incumbent  {int},                      -- the version that it raced against; NULL: none
  version    {int},                      -- that it made; NULL: none
  serial     {int} NOT NULL,             -- rejections up to this one counted
  n_legal    {int},
  n_measured {int},
  throttle   {int},
  body       TEXT NOT NULL);              -- JSON
CREATE INDEX race_product ON race(product, class, policy, lease);

CREATE TABLE canary(
  lease           {int} PRIMARY KEY REFERENCES lease,
  device          TEXT NOT NULL,
  begin_read_us   {real},
  begin_kernel_us {real},
  end_read_us     {real},
  end_kernel_us   {real});
CREATE INDEX canary_device ON canary(device, lease);

CREATE TABLE choice(
  product          TEXT NOT NULL,
  class            TEXT NOT NULL,
  policy           TEXT NOT NULL,
  version          {int} NOT NULL,
  schedule         TEXT NOT NULL,
  default_schedule TEXT NOT NULL,
  us               {real} NOT NULL,
  default_us       {real} NOT NULL,
  mode             TEXT NOT NULL,
  device           TEXT NOT NULL,
  driver           TEXT,
  at               {int} NOT NULL,
  build            TEXT NOT NULL,
  cubin            TEXT,
  lease            {int} NOT NULL REFERENCES lease,
  origin           TEXT NOT NULL,
  PRIMARY KEY(product, class, policy, version));

CREATE TABLE rejection(
  product  TEXT NOT NULL,
  class    TEXT NOT NULL,
  policy   TEXT NOT NULL,
  version  {int} NOT NULL,
  schedule TEXT NOT NULL,
  serial   {int} NOT NULL,
  PRIMARY KEY(product, class, policy, version));

-- What is current: the one table about choices that is updated.
CREATE TABLE head(
  product TEXT NOT NULL,
  class   TEXT NOT NULL,
  policy  TEXT NOT NULL,
  version {int} NOT NULL,
  serial  {int} NOT NULL,
  pinned  INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(product, class, policy));
CREATE INDEX head_serial ON head(serial);

CREATE TABLE bundle(
  bundle    {id},
  at        {int} NOT NULL,
  serial    {int} NOT NULL,
  choices   {int} NOT NULL,
  hash      TEXT NOT NULL,
  signature TEXT NOT NULL,
  note      TEXT,
  body      TEXT NOT NULL);

CREATE TABLE event(
  event {id},
  at    {int} NOT NULL,
  kind  TEXT NOT NULL,
  who   TEXT,
  job   {int},
  lease {int},
  text  TEXT NOT NULL);

-- How often products were looked up.
CREATE TABLE lookup(
  product TEXT NOT NULL,
  class   TEXT NOT NULL,
  asked   {int} NOT NULL,
  missed  {int} NOT NULL,
  last    {int} NOT NULL,
  PRIMARY KEY(product, class));
