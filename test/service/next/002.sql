-- What a later build might add: heddled-next, for tests of two builds on one database.
-- oldest: 1
ALTER TABLE measurement ADD COLUMN remark TEXT;
ALTER TABLE job ADD COLUMN hint TEXT;
ALTER TABLE lease ADD COLUMN weight {int} NOT NULL DEFAULT 0;
CREATE TABLE later(
  later {id},
  job   {int} NOT NULL REFERENCES job);
