"""older_records.py FILE: turns a database of records back into version 1, without the later columns and without one
key of the schedules."""
import sqlite3
import sys

db = sqlite3.connect(sys.argv[1])
for table, columns in {"measurement": ["sustained_us"],
                       "choice": ["sustained_us", "default_sustained_us"]}.items():
    for column in columns:
        db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    db.execute(f"UPDATE {table} SET schedule = replace(schedule, ' reduce=workspace', '')")
db.execute("PRAGMA user_version = 1")
db.execute("PRAGMA application_id = 0")  # version 1 had none
db.commit()
