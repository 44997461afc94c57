-- A trigger refuses UPDATE and DELETE of records.
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
