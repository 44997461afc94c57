-- Every statement of the service, once, for both databases. `---- NAME` begins one; `---- NAME postgresql`
-- is PostgreSQL's own form of it. Words in braces differ (store_words in store.c):
--   {now}     milliseconds by the database's clock
--   {skip_j}  FOR UPDATE OF j SKIP LOCKED; {skip_l} of l    {each}  the elements of the JSON list $1, column `value`
--   {least}   the lesser of two                           {choice}  the columns of a choice c with its head h
-- A column's alias may end in :int :num :bool :json :time; rows_json writes it so.
---- schema_there
SELECT count(*) FROM sqlite_schema WHERE name = 'counter';
---- schema_there postgresql
SELECT count(*) FROM pg_class WHERE relname = 'counter' AND pg_table_is_visible(oid);
---- schema_get
SELECT name, value FROM counter WHERE name LIKE 'schema%';
---- schema_set
INSERT INTO counter(name, value) VALUES($1, $2) ON CONFLICT(name) DO UPDATE SET value = excluded.value;
---- backup
VACUUM INTO $1;

---- token_all
SELECT hash, name, tenant, scopes, revoked FROM token ORDER BY name;
---- token_list
SELECT name, tenant, scopes, created AS "created:time", revoked AS "revoked:time" FROM token ORDER BY name;
---- token_add
INSERT INTO token(hash, name, tenant, scopes, created) VALUES($1, $2, $3, $4, {now});
---- token_revoke
UPDATE token SET revoked = {now} WHERE name = $1 AND revoked IS NULL;

---- event_add
INSERT INTO event(at, kind, who, job, lease, text) VALUES({now}, $1, $2, nullif(CAST($3 AS BIGINT), 0), nullif(CAST($4 AS BIGINT), 0), $5);
---- events
SELECT event AS "event:int", at AS "at:time", kind, who, job AS "job:int", lease AS "lease:int", text
  FROM event WHERE event > $1 ORDER BY event LIMIT $2;
---- events_last
SELECT event AS "event:int", at AS "at:time", kind, who, job AS "job:int", lease AS "lease:int", text
  FROM event ORDER BY event DESC LIMIT $1;

---- campaign_add
INSERT INTO campaign(tenant, class, note, created) VALUES($1, $2, $3, {now}) RETURNING campaign;
---- job_add
INSERT INTO job(product, class, policy, state, priority, tenant, created)
SELECT value, $2, $3, 'queued', CAST($4 AS INTEGER), $5, {now} FROM {each} AS p
 WHERE CAST($6 AS INTEGER) = 1
    OR NOT EXISTS (SELECT 1 FROM head h WHERE h.product = p.value AND h.class = $2 AND h.policy = $3)
ON CONFLICT(product, class, policy) WHERE state IN ('queued', 'leased') DO NOTHING;
---- member_add
INSERT INTO member(campaign, job)
SELECT CAST($2 AS BIGINT), x.job
  FROM (SELECT (SELECT j.job FROM job j WHERE j.product = p.value AND j.class = $3 AND j.policy = $4
                   AND j.state IN ('queued', 'leased')) AS job FROM {each} AS p) AS x
 WHERE x.job IS NOT NULL ON CONFLICT(campaign, job) DO NOTHING;
---- job_raise
UPDATE job SET priority = $2
 WHERE state = 'queued' AND priority < $2 AND job IN (SELECT job FROM member WHERE campaign = $1);
---- job_adopt
UPDATE job SET tenant = $2
 WHERE state = 'queued' AND job IN (SELECT job FROM member WHERE campaign = $1)
   AND tenant IN (SELECT tenant FROM tenant WHERE spent_ms >= budget_ms);
---- rollout
INSERT INTO job(product, class, policy, state, priority, tenant, created)
SELECT h.product, h.class, h.policy, 'queued', 3, $3, {now}
  FROM head h JOIN choice c ON c.product = h.product AND c.class = h.class AND c.policy = h.policy AND c.version = h.version
  LEFT JOIN lookup u ON u.product = h.product AND u.class = h.class
 WHERE c.build <> $1 AND h.class = $2
 ORDER BY coalesce(u.asked, 0) DESC, h.product
ON CONFLICT(product, class, policy) WHERE state IN ('queued', 'leased') DO NOTHING;
---- rollout_member
INSERT INTO member(campaign, job)
SELECT CAST($1 AS BIGINT), j.job FROM job j JOIN head h ON h.product = j.product AND h.class = j.class AND h.policy = j.policy
  JOIN choice c ON c.product = h.product AND c.class = h.class AND c.policy = h.policy AND c.version = h.version
 WHERE j.state IN ('queued', 'leased') AND c.build <> $2 AND h.class = $3
ON CONFLICT(campaign, job) DO NOTHING;
---- classes
SELECT DISTINCT class FROM head ORDER BY class;
---- jobs
SELECT job AS "job:int", product, class, policy, state, priority AS "priority:int", tenant, attempt AS "attempt:int",
       lease AS "lease:int", why, created AS "created:time", nullif(not_before, 0) AS "not_before:time"
  FROM job j
 WHERE ($1 = '' OR state = $1) AND ($2 = '' OR class = $2) AND job < $4
   AND (CAST($3 AS BIGINT) = 0 OR EXISTS (SELECT 1 FROM member m WHERE m.campaign = $3 AND m.job = j.job))
 ORDER BY job DESC LIMIT $5;
---- job_get
SELECT job AS "job:int", product, class, policy, state, priority AS "priority:int", tenant, attempt AS "attempt:int",
       lease AS "lease:int", why, created AS "created:time", nullif(not_before, 0) AS "not_before:time"
  FROM job WHERE job = $1;
---- job_cancel
UPDATE job SET state = 'cancelled', ended = {now} WHERE job = $1 AND state IN ('queued', 'leased');
---- campaigns
SELECT c.campaign AS "campaign:int", c.tenant, c.class, c.note, c.created AS "created:time", count(*) AS "total:int",
       sum(CASE WHEN j.state = 'queued' THEN 1 ELSE 0 END) AS "queued:int",
       sum(CASE WHEN j.state = 'leased' THEN 1 ELSE 0 END) AS "leased:int",
       sum(CASE WHEN j.state = 'done' THEN 1 ELSE 0 END) AS "done:int",
       sum(CASE WHEN j.state = 'failed' THEN 1 ELSE 0 END) AS "failed:int",
       sum(CASE WHEN j.state = 'cancelled' THEN 1 ELSE 0 END) AS "cancelled:int",
       nullif(sum(CASE WHEN j.state IN ('queued', 'leased') THEN 1 ELSE 0 END), 0)
         * ({least}({now} - min(c.created), 3600000))
         / nullif(1000.0 * sum(CASE WHEN j.state = 'done' AND j.ended >= {now} - 3600000 THEN 1 ELSE 0 END), 0) AS "eta_s:num"
  FROM campaign c JOIN member m ON m.campaign = c.campaign JOIN job j ON j.job = m.job
 WHERE CAST($1 AS BIGINT) = 0 OR c.campaign = $1
 GROUP BY c.campaign, c.tenant, c.class, c.note, c.created ORDER BY c.campaign DESC LIMIT 1000;
---- tenants
SELECT tenant, budget_ms / 1000.0 AS "budget_s:num", spent_ms / 1000.0 AS "spent_s:num" FROM tenant ORDER BY tenant;
---- tenant_get
SELECT tenant, budget_ms / 1000.0 AS "budget_s:num", spent_ms / 1000.0 AS "spent_s:num" FROM tenant WHERE tenant = $1;
---- tenant_set
INSERT INTO tenant(tenant, budget_ms) VALUES($1, $2) ON CONFLICT(tenant) DO UPDATE SET budget_ms = excluded.budget_ms;
---- uncharged
SELECT l.lease, j.tenant, CASE WHEN l.ended < l.until THEN l.ended ELSE l.until END - l.granted
  FROM lease l JOIN job j ON j.job = l.job WHERE l.charged = 0 AND l.ended IS NOT NULL ORDER BY j.tenant, l.lease LIMIT 1000 {skip_l};
---- charged
UPDATE lease SET charged = 1 WHERE lease IN (SELECT CAST(value AS BIGINT) FROM {each} AS p);
---- charge
INSERT INTO tenant(tenant, spent_ms) VALUES($1, $2) ON CONFLICT(tenant) DO UPDATE SET spent_ms = tenant.spent_ms + excluded.spent_ms;
---- move_broke
UPDATE job SET tenant = (SELECT c.tenant FROM member m JOIN campaign c ON c.campaign = m.campaign
                           LEFT JOIN tenant t ON t.tenant = c.tenant
                          WHERE m.job = job.job AND (t.budget_ms IS NULL OR t.spent_ms < t.budget_ms)
                          ORDER BY c.campaign LIMIT 1)
 WHERE state = 'queued' AND tenant IN (SELECT tenant FROM tenant WHERE spent_ms >= budget_ms)
   AND EXISTS (SELECT 1 FROM member m JOIN campaign c ON c.campaign = m.campaign LEFT JOIN tenant t ON t.tenant = c.tenant
                WHERE m.job = job.job AND (t.budget_ms IS NULL OR t.spent_ms < t.budget_ms));

---- device_seen
INSERT INTO device(uuid, name, class, driver, agent, build, scripted, seen) VALUES($1, $2, $3, $4, $5, $6, $7, {now})
ON CONFLICT(uuid) DO UPDATE SET name = excluded.name, class = excluded.class, driver = excluded.driver,
   agent = excluded.agent, build = excluded.build, scripted = excluded.scripted, seen = excluded.seen
 WHERE device.seen < excluded.seen - 10000 OR device.agent <> excluded.agent OR device.build <> excluded.build
    OR device.class <> excluded.class;
---- lease_of_request
SELECT l.lease, l.job, j.product, j.class, j.policy, j.attempt, CASE WHEN l.ended IS NULL AND l.until > {now} THEN 1 ELSE 0 END, l.token
  FROM lease l JOIN job j ON j.job = l.job WHERE l.request = $1;
---- lease_of_device
SELECT lease, until - {now} FROM lease WHERE device = $1 AND ended IS NULL;
---- job_next
SELECT j.job, j.product, j.class, j.policy, j.attempt FROM job j
 WHERE j.state = 'queued' AND j.class = $1 AND j.not_before <= {now}
   AND j.tenant NOT IN (SELECT t.tenant FROM tenant t WHERE t.spent_ms >= t.budget_ms)
 ORDER BY j.priority DESC, j.job LIMIT 1 {skip_j};
---- lease_add
INSERT INTO lease(job, request, token, device, agent, build, environment, granted, renewed, until)
SELECT CAST($1 AS BIGINT), $2, $3, $4, $5, $6, $7, n.now, n.now, n.now + $8 FROM (SELECT {now} AS now) n RETURNING lease;
---- job_lease
UPDATE job SET state = 'leased', lease = $2, why = NULL WHERE job = $1;
---- lease_get
SELECT l.lease, l.job, l.token, l.device, l.build, l.environment, l.how, CASE WHEN l.ended IS NULL AND l.until > {now} THEN 1 ELSE 0 END,
       j.product, j.class, j.policy, j.state, l.agent
  FROM lease l JOIN job j ON j.job = l.job WHERE l.lease = $1;
---- lease_renew
UPDATE lease SET renewed = {now}, until = {now} + $2 WHERE lease = $1 AND ended IS NULL AND until > {now};
---- lease_preempt
SELECT CASE WHEN (SELECT count(*) FROM job q WHERE q.class = me.class AND q.state = 'queued' AND q.priority > me.priority AND q.not_before <= {now})
               > (SELECT count(*) FROM job o WHERE o.class = me.class AND o.state = 'leased'
                     AND (o.priority < me.priority OR (o.priority = me.priority AND o.lease > me.lease)))
            THEN 1 ELSE 0 END
  FROM job me WHERE me.lease = $1;
---- lease_end
UPDATE lease SET ended = {now}, how = $2 WHERE lease = $1 AND ended IS NULL AND until > {now} RETURNING job;
---- lease_expire
UPDATE lease SET ended = {now}, how = 'expired' WHERE lease = $1 AND ended IS NULL AND until <= {now} RETURNING job;
---- lease_end_of_job
UPDATE lease SET ended = {now}, how = $2 WHERE job = $1 AND ended IS NULL RETURNING lease;
---- expired
SELECT l.lease FROM lease l WHERE l.ended IS NULL AND l.until <= {now} ORDER BY l.lease LIMIT 100 {skip_l};
---- job_back
UPDATE job SET state = CASE WHEN attempt + $3 >= 5 THEN 'failed' ELSE 'queued' END,
       ended = CASE WHEN attempt + $3 >= 5 THEN {now} ELSE NULL END,
       not_before = {now} + CASE WHEN CAST($4 AS BIGINT) > 0 THEN CAST($4 AS BIGINT) WHEN $3 = 0 THEN 0
                                 WHEN attempt > 8 THEN 300000 ELSE 1000 << attempt END,
       attempt = attempt + $3, why = $5
 WHERE job = $1 AND lease = $2 AND state = 'leased' RETURNING state;
---- job_end
UPDATE job SET state = $2, why = $3, ended = {now} WHERE job = $1 AND state = 'leased';

---- measurement_add
INSERT INTO measurement(lease, seq, schedule, verdict, why, us, us_min, us_max, sustained_us, predicted_us, error, power_w,
                        sm_mhz, temperature_c, throttle, cubin, begin_ms, end_ms)
SELECT $2, value ->> 'seq', value ->> 'schedule', value ->> 'verdict', value ->> 'why', value ->> 'us', value ->> 'us_min',
       value ->> 'us_max', value ->> 'sustained_us', value ->> 'predicted_us', value ->> 'error', value ->> 'power_w',
       value ->> 'sm_mhz', value ->> 'temperature_c', value ->> 'throttle', value ->> 'cubin', value ->> 'begin_ms', value ->> 'end_ms'
  FROM json_each($1) WHERE true ON CONFLICT(lease, seq) DO NOTHING;
---- measurement_add postgresql
INSERT INTO measurement(lease, seq, schedule, verdict, why, us, us_min, us_max, sustained_us, predicted_us, error, power_w,
                        sm_mhz, temperature_c, throttle, cubin, begin_ms, end_ms)
SELECT CAST($2 AS BIGINT), r.* FROM json_to_recordset(CAST($1 AS json)) AS r(seq INTEGER, schedule TEXT, verdict TEXT, why TEXT,
       us DOUBLE PRECISION, us_min DOUBLE PRECISION, us_max DOUBLE PRECISION, sustained_us DOUBLE PRECISION,
       predicted_us DOUBLE PRECISION, error DOUBLE PRECISION, power_w DOUBLE PRECISION, sm_mhz INTEGER,
       temperature_c DOUBLE PRECISION, throttle BIGINT, cubin TEXT, begin_ms DOUBLE PRECISION, end_ms DOUBLE PRECISION)
ON CONFLICT(lease, seq) DO NOTHING;
---- measurement_differs
SELECT m.seq FROM json_each($1) AS r JOIN measurement m ON m.lease = $2 AND m.seq = r.value ->> 'seq'
 WHERE m.schedule <> r.value ->> 'schedule' OR m.verdict <> r.value ->> 'verdict' OR m.us IS NOT r.value ->> 'us' ORDER BY m.seq LIMIT 1;
---- measurement_differs postgresql
SELECT m.seq FROM json_to_recordset(CAST($1 AS json)) AS r(seq INTEGER, schedule TEXT, verdict TEXT, us DOUBLE PRECISION)
  JOIN measurement m ON m.lease = $2 AND m.seq = r.seq
 WHERE m.schedule <> r.schedule OR m.verdict <> r.verdict OR m.us IS DISTINCT FROM r.us ORDER BY m.seq LIMIT 1;
---- measurement_count
SELECT count(*) FROM measurement WHERE lease = $1;
---- measurements
SELECT seq AS "seq:int", schedule, verdict, why, us AS "us:num", sustained_us AS "sustained_us:num", predicted_us AS "predicted_us:num"
  FROM measurement WHERE lease = $1 ORDER BY seq;

---- race_add
INSERT INTO race(lease, product, class, policy, device, build, at, suspect, decision, incumbent, version, serial, n_legal,
                 n_measured, throttle, body)
VALUES($1, $2, $3, $4, $5, $6, {now}, $7, $8, nullif(CAST($9 AS BIGINT), 0), nullif(CAST($10 AS BIGINT), 0), $11, $12, $13, $14, $15);
---- race_get
SELECT suspect, decision FROM race WHERE lease = $1;
---- races
SELECT lease AS "lease:int", at AS "at:time", device, build, suspect, decision, body AS "race:json"
  FROM race WHERE product = $1 AND class = $2 AND policy = $3 ORDER BY lease DESC LIMIT 200;
---- races_to_decide
SELECT r.lease, r.product, r.class, r.policy, r.decision, r.version, r.incumbent, r.serial, r.body, c.schedule, n.schedule
  FROM race r
  LEFT JOIN choice c ON c.product = r.product AND c.class = r.class AND c.policy = r.policy AND c.version = r.incumbent
  LEFT JOIN choice n ON n.product = r.product AND n.class = r.class AND n.policy = r.policy AND n.version = r.version
 WHERE r.lease > $1 ORDER BY r.lease LIMIT 1000;
---- races_begin
SELECT coalesce(max(lease), 0) - 2000 FROM race;
---- races_since
SELECT lease, product, class, body FROM race WHERE lease > $1 AND suspect IS NULL ORDER BY lease LIMIT 200;
---- canary_add
INSERT INTO canary(lease, device, begin_read_us, begin_kernel_us, end_read_us, end_kernel_us) VALUES($1, $2, $3, $4, $5, $6);
---- canaries
SELECT begin_read_us, begin_kernel_us, end_read_us, end_kernel_us FROM canary WHERE device = $1 ORDER BY lease DESC LIMIT 200;
---- canaries_all
SELECT d.uuid, d.class, c.lease, c.begin_read_us, c.begin_kernel_us, c.end_read_us, c.end_kernel_us
  FROM device d JOIN canary c ON c.device = d.uuid ORDER BY d.uuid, c.lease DESC;

---- serial_next
UPDATE counter SET value = value + 1 WHERE name = 'serial' RETURNING value;
---- serial_get
SELECT value FROM counter WHERE name = 'serial';
---- choice_add
INSERT INTO choice(product, class, policy, version, schedule, default_schedule, us, default_us, mode, device, driver, at, build, cubin, lease, origin)
VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, {now}, $12, $13, $14, $15);
---- choice_copy
INSERT INTO choice(product, class, policy, version, schedule, default_schedule, us, default_us, mode, device, driver, at, build, cubin, lease, origin)
SELECT product, class, policy, CAST($5 AS BIGINT), schedule, default_schedule, us, default_us, mode, device, driver, at,
       coalesce(nullif($7, ''), build), cubin, lease, $6
  FROM choice WHERE product = $1 AND class = $2 AND policy = $3 AND version = $4;
---- choice_default
INSERT INTO choice(product, class, policy, version, schedule, default_schedule, us, default_us, mode, device, driver, at, build, cubin, lease, origin)
SELECT product, class, policy, CAST($5 AS BIGINT), default_schedule, default_schedule, default_us, default_us, mode, device, driver, at, build, NULL, lease, 'reject'
  FROM choice WHERE product = $1 AND class = $2 AND policy = $3 AND version = $4;
---- choice_last_good
SELECT c.version FROM choice c WHERE c.product = $1 AND c.class = $2 AND c.policy = $3
   AND NOT EXISTS (SELECT 1 FROM rejection r WHERE r.product = $1 AND r.class = $2 AND r.policy = $3 AND r.schedule = c.schedule)
 ORDER BY c.version DESC LIMIT 1;
---- head_set
INSERT INTO head(product, class, policy, version, serial, pinned) VALUES($1, $2, $3, $4, $5, $6)
ON CONFLICT(product, class, policy) DO UPDATE SET version = excluded.version, serial = excluded.serial, pinned = excluded.pinned;
---- head_get
SELECT {choice} FROM head h JOIN choice c ON c.product = h.product AND c.class = h.class AND c.policy = h.policy AND c.version = h.version
 WHERE h.product = $1 AND h.class = $2 AND h.policy = $3;
---- versions
SELECT {choice} FROM choice c JOIN head h ON h.product = c.product AND h.class = c.class AND h.policy = c.policy
 WHERE c.product = $1 AND c.class = $2 AND c.policy = $3 ORDER BY c.version DESC LIMIT 200;
---- version_last
SELECT max(version) FROM choice WHERE product = $1 AND class = $2 AND policy = $3;
---- version_get
SELECT schedule, default_schedule FROM choice WHERE product = $1 AND class = $2 AND policy = $3 AND version = $4;
---- heads_since
SELECT {choice} FROM head h JOIN choice c ON c.product = h.product AND c.class = h.class AND c.policy = h.policy AND c.version = h.version
 WHERE h.serial > $1 ORDER BY h.serial, h.product;
---- heads_of_class
SELECT {choice} FROM head h JOIN choice c ON c.product = h.product AND c.class = h.class AND c.policy = h.policy AND c.version = h.version
 WHERE $1 = '' OR h.class = $1 ORDER BY h.product, h.class, h.policy;
---- heads_like
SELECT {choice} FROM head h JOIN choice c ON c.product = h.product AND c.class = h.class AND c.policy = h.policy AND c.version = h.version
 WHERE h.product LIKE '%' || $1 || '%' OR h.class LIKE '%' || $1 || '%' ORDER BY h.product, h.class, h.policy LIMIT 500;
---- rejection_add
INSERT INTO rejection(product, class, policy, version, schedule, serial) VALUES($1, $2, $3, $4, $5, $6)
ON CONFLICT(product, class, policy, version) DO NOTHING;
---- rejections
SELECT schedule FROM rejection WHERE product = $1 AND class = $2 AND policy = $3 AND serial <= $4;

---- bundle_add
INSERT INTO bundle(at, serial, choices, hash, signature, note, body) VALUES({now}, $1, $2, $3, $4, $5, $6) RETURNING bundle;
---- bundles
SELECT bundle AS "bundle:int", at AS "at:time", serial AS "serial:int", choices AS "choices:int", hash, signature, note
  FROM bundle WHERE CAST($1 AS BIGINT) = 0 OR bundle = $1 ORDER BY bundle DESC LIMIT 1000;
---- bundle_get
SELECT body, signature FROM bundle WHERE bundle = $1;

---- lookup_add
INSERT INTO lookup(product, class, asked, missed, last)
SELECT value ->> 'product', value ->> 'class', value ->> 'count', (value ->> 'count') * (value ->> 'missed'), {now} FROM json_each($1) WHERE true
ON CONFLICT(product, class) DO UPDATE SET asked = lookup.asked + excluded.asked, missed = lookup.missed + excluded.missed, last = excluded.last;
---- lookup_add postgresql
INSERT INTO lookup(product, class, asked, missed, last)
SELECT r.product, r.class, sum(r.count), sum(CASE WHEN r.missed THEN r.count ELSE 0 END), {now}
  FROM json_to_recordset(CAST($1 AS json)) AS r(product TEXT, class TEXT, count BIGINT, missed BOOLEAN)
 GROUP BY r.product, r.class ORDER BY r.product, r.class
ON CONFLICT(product, class) DO UPDATE SET asked = lookup.asked + excluded.asked, missed = lookup.missed + excluded.missed, last = excluded.last;
---- missed_most
SELECT product, class, asked AS "asked:int", missed AS "missed:int" FROM lookup u WHERE missed > 0
   AND NOT EXISTS (SELECT 1 FROM head h WHERE h.product = u.product AND h.class = u.class)
 ORDER BY missed DESC, product LIMIT 50;

---- gpus
SELECT d.uuid, d.name, d.class, d.driver, d.agent, d.build, d.scripted AS "scripted:bool",
       ({now} - CASE WHEN l.renewed > d.seen THEN l.renewed ELSE d.seen END) / 1000.0 AS "seen_s:num",
       l.lease AS "lease:int", j.product,
       (SELECT count(*) FROM lease x WHERE x.device = d.uuid AND x.how IN ('done', 'carried')) AS "done:int"
  FROM device d LEFT JOIN lease l ON l.device = d.uuid AND l.ended IS NULL LEFT JOIN job j ON j.job = l.job
 ORDER BY d.class, d.agent, d.uuid;
---- waiting_classes
SELECT class, count(*) FROM job j WHERE state = 'queued' AND not_before <= {now}
   AND j.tenant NOT IN (SELECT t.tenant FROM tenant t WHERE t.spent_ms >= t.budget_ms) GROUP BY class;
---- job_states
SELECT class, state, count(*) FROM job GROUP BY class, state ORDER BY class, state;
---- totals
SELECT (SELECT count(*) FROM head), (SELECT count(*) FROM campaign), (SELECT count(*) FROM lease WHERE ended IS NULL), (SELECT coalesce(max(event), 0) FROM event);
