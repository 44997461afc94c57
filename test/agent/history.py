"""Checks what is stored against what clients were told, and for consistency. Each rule is a function over plain
rows, so that it can be tested with an injected fault (`python history.py`)."""
import copy
import json
import sqlite3
import sys

TABLES = {
    "job": "job, product, class, policy, state, lease",
    "lease": "lease, job, device, build, granted, until, ended, how",
    "measurement": "lease, seq, schedule, verdict, us, begin_ms, end_ms",
    "race": "lease, product, class, policy, device, build, suspect, decision, version",
    "choice": "product, class, policy, version, schedule, lease, origin, build, us, default_us",
}


def read_sqlite(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        db.row_factory = sqlite3.Row
        return {table: [dict(row) for row in db.execute(f"SELECT {columns} FROM {table}")] for table, columns in TABLES.items()}


def read_postgres(postgres):
    rows = {}
    for table, columns in TABLES.items():
        text = postgres.sql(f"SELECT coalesce(json_agg(t), '[]') FROM (SELECT {columns} FROM {table}) t")
        rows[table] = json.loads(text)
    return rows


def kept(rows, told):
    """No acknowledged measurement and no acknowledged end of a job is lost or changed."""
    stored = {(m["lease"], m["seq"]): m for m in rows["measurement"]}
    how = {lease["lease"]: lease["how"] for lease in rows["lease"]}
    for kind, lease, body, _ in told:
        if kind == "finish":
            if how.get(lease) not in ("done", "carried", "failed", "suspect"):
                yield f"the end of lease {lease} was acknowledged, but it is {how.get(lease)}"
            continue
        for m in body["measurements"]:
            found = stored.get((lease, m["seq"]))
            if not found:
                yield f"measurement {lease}.{m['seq']} was acknowledged and is not stored"
            elif found["schedule"] != m["schedule"] or abs((found["us"] or 0) - m.get("us", 0)) > 1e-6:
                yield f"measurement {lease}.{m['seq']} is stored with other content"


def single(rows, told):
    """A (product, class, policy), and a GPU, has one live lease at a time."""
    jobs = {job["job"]: job for job in rows["job"]}
    for what, of in (("job", lambda x: tuple(jobs[x["job"]][k] for k in ("product", "class", "policy"))),
                     ("device", lambda x: x["device"])):
        spans = {}
        for lease in rows["lease"]:
            end = lease["ended"] if lease["ended"] is not None else lease["until"]
            spans.setdefault(of(lease), []).append((lease["granted"], end, lease["lease"]))
        for key, list_ in spans.items():
            list_.sort()
            for (_, end, x), (begin, _, y) in zip(list_, list_[1:]):
                if begin < end:
                    yield f"{what} {key}: leases {x} and {y} overlap by {end - begin:.0f} ms"


def inside(rows, told):
    """Every measurement was made within its lease (so with `single`, measurements never overlap). The agent's
    clock starts when it asks, which is before the lease starts."""
    leases = {lease["lease"]: lease for lease in rows["lease"]}
    for m in rows["measurement"]:
        lease = leases[m["lease"]]
        if m["end_ms"] is not None and lease["ended"] and lease["how"] == "expired":
            if m["end_ms"] > lease["until"] - lease["granted"]:
                yield f"measurement {m['lease']}.{m['seq']} ended {m['end_ms']:.0f} ms after it was asked for, its lease lasted less"


def complete(rows, told):
    """A finished job has the race, or the carried-over choice, of its last lease."""
    races = {race["lease"] for race in rows["race"]}
    leases = {lease["lease"]: lease for lease in rows["lease"]}
    newest = {}
    for lease in rows["lease"]:
        newest[lease["job"]] = max(lease["lease"], newest.get(lease["job"], 0))
    for job in rows["job"]:
        last = newest.get(job["job"])
        if job["lease"] != last and last is not None:
            yield f"job {job['job']} says lease {job['lease']}, its last one is {last}"
        if job["state"] == "done" and job["lease"] not in races and leases[job["lease"]]["how"] != "carried":
            yield f"job {job['job']} is done without a race of lease {job['lease']}"


def own(rows, told):
    """A choice refers to a race of its own product, class and policy, of its own build unless it was carried over, and is
    never slower than the default in that race; a race is of its lease's GPU and build."""
    leases = {lease["lease"]: lease for lease in rows["lease"]}
    for race in rows["race"]:
        if any(race[k] != leases[race["lease"]][k] for k in ("device", "build")):
            yield f"the race of lease {race['lease']} says another GPU or build"
    races = {race["lease"]: race for race in rows["race"]}
    for choice in rows["choice"]:
        race = races.get(choice["lease"])
        if not race or any(race[k] != choice[k] for k in ("product", "class", "policy")):
            yield f"choice {choice['product']} v{choice['version']}: lease {choice['lease']} has no race of it"
        elif choice["origin"] == "race" and race["build"] != choice["build"]:
            yield f"choice {choice['product']} v{choice['version']} says build {choice['build']}, its race {race['build']}"
        if choice["us"] > choice["default_us"]:
            yield f"choice {choice['product']} v{choice['version']} loses to its default"


def grows(rows, told):
    """Versions increase by one."""
    versions = {}
    for choice in rows["choice"]:
        versions.setdefault((choice["product"], choice["class"], choice["policy"]), []).append(choice["version"])
    for key, list_ in versions.items():
        if sorted(list_) != list(range(1, len(list_) + 1)):
            yield f"{key}: versions {sorted(list_)}"


RULES = (kept, single, inside, complete, own, grows)


def check(rows, told):
    return {rule.__name__: list(rule(rows, told)) for rule in RULES}


def breaches(rows, told):
    return [f"{name}: {text}" for name, found in check(rows, told).items() for text in found]


# ---- every rule detects an injected fault ----

def good():
    key = {"product": "p", "class": "c", "policy": "default"}
    return {"job": [dict(key, job=1, state="done", lease=2)],
            "lease": [dict(lease=1, job=1, device="g", build="b", granted=0, until=900, ended=900, how="expired"),
                      dict(lease=2, job=1, device="g", build="b", granted=1000, until=2000, ended=1500, how="done")],
            "measurement": [dict(lease=1, seq=0, schedule="s", verdict="ok", us=1.0, begin_ms=0, end_ms=100),
                            dict(lease=2, seq=0, schedule="s", verdict="ok", us=1.0, begin_ms=0, end_ms=100)],
            "race": [dict(key, lease=2, device="g", build="b", suspect=None, decision="new", version=1)],
            "choice": [dict(key, version=1, schedule="s", lease=2, origin="race", build="b", us=1.0, default_us=1.0)]}


INJECTED = {
    "kept": [lambda r: r["measurement"].pop(), lambda r: r["measurement"][1].update(us=2.0), lambda r: r["lease"][1].update(how="expired")],
    "single": [lambda r: r["lease"][1].update(granted=800), lambda r: r["lease"][0].update(ended=None, until=1200)],
    "inside": [lambda r: r["measurement"][0].update(end_ms=901)],
    "complete": [lambda r: r["race"].clear(), lambda r: r["job"][0].update(lease=1)],
    "own": [lambda r: r["race"][0].update(product="q"), lambda r: r["choice"][0].update(lease=1), lambda r: r["choice"][0].update(us=1.1),
            lambda r: r["choice"][0].update(build="c"), lambda r: r["race"][0].update(device="h")],
    "grows": [lambda r: r["choice"][0].update(version=2)],
}


def main():
    told = [("measurements", 2, {"measurements": [{"seq": 0, "schedule": "s", "us": 1.0}]}, None), ("finish", 2, {}, {})]
    assert not breaches(good(), told), breaches(good(), told)
    n = 0
    for name, faults in INJECTED.items():
        for inject in faults:
            rows = copy.deepcopy(good())
            inject(rows)
            assert check(rows, told)[name], f"{name} did not see fault {n}"
            n += 1
    print(f"{n} of {n} injected faults are seen by their rule")
    return 0


if __name__ == "__main__":
    sys.exit(main())
