/* lease.pml: the lease protocol of docs/service.md, for SPIN: one job, two agents, two servers over one
 * database that may die between any two transactions, agents that may die at any step, and a network
 * that loses, delays, repeats and reorders requests and loses answers.
 *
 * Checked in every reachable state:
 *   kept      an agent was told that a measurement is stored only if it is; until then it is in its spool
 *   single    at most one agent measures for the job, and only while the job's lease lives
 *   complete  a finished job was finished under its last lease, whose measurements are all stored
 * With -DREACH: a job can be finished under its second lease; this must be reported as a violation.
 *
 * Time. Only the server's clock ends a lease. An agent counts the same ticks from before it asked and
 * stops one tick early. One assumption: its timer and its kill are obeyed within that tick (`ticks`).
 * Times count down, so that the model is finite without a last moment.
 *
 * Each -DFAULT_NAME leaves one rule out; test/agent/run_spin expects SPIN to find every one. */

#define AGENTS 2
#define LEASE 3       /* ticks */
#define SLOTS 2       /* requests in the network at once */
#ifndef MOST_LEASES
#define MOST_LEASES 2 /* after these no agent claims any more */
#endif

mtype = { NOTHING, CLAIM, RENEW, RECORD, FINISH };

/* The network: an unordered multiset. `open`: the connection exists, so an answer can come back. */
mtype net_kind[SLOTS] = NOTHING;
byte net_from[SLOTS], net_lease[SLOTS];
bool net_open[SLOTS];

/* The database, which survives the server. */
byte lease_id, lease_left; /* the last lease; ticks until it ends */
bool job_done;
byte finished_by;
bool stored[MOST_LEASES + 1]; /* the measurements of a lease */

/* The agents' files, which survive the agents. */
byte spool[AGENTS]; /* the lease whose measurements wait for a 204; 0: empty */

/* The agents' memory. */
bool measuring[AGENTS];
byte left[AGENTS];       /* ticks to its own deadline */
byte asked_left[AGENTS]; /* the same, if what it asks for now is granted */
mtype waiting[AGENTS] = NOTHING;
bool answered[AGENTS];
byte answer[AGENTS];     /* a lease; 0: refused */

/* Only for the properties. */
bool measured[MOST_LEASES + 1], told[MOST_LEASES + 1];

#define may_tick(i) (!measuring[i] || left[i] > 1)
#define step_down(x) if :: x > 0 -> x-- :: else fi

active proctype ticks() {
end:
  do
  :: atomic {
       may_tick(0) && may_tick(1) &&
       lease_left + left[0] + left[1] + asked_left[0] + asked_left[1] > 0 ->
       step_down(lease_left);
       step_down(left[0]); step_down(left[1]);
       step_down(asked_left[0]); step_down(asked_left[1])
     }
  od
}

/* The answer arrives if the connection is open, or is lost: alone, or with the server after COMMIT. */
inline reply(value) {
  if
  :: net_open[s] && waiting[net_from[s]] == net_kind[s] ->
     answer[net_from[s]] = value; answered[net_from[s]] = true
  :: skip
  fi
}

inline claim() {
  if
#ifdef FAULT_CLAIM_LIVE
  :: !job_done && lease_id < MOST_LEASES ->
#else
  :: !job_done && lease_id < MOST_LEASES && lease_left == 0 ->
#endif
     lease_id++; lease_left = LEASE; reply(lease_id)
  :: else -> reply(0)
  fi
}

inline renew() {
  if
  :: !job_done && lease_left > 0 && net_lease[s] == lease_id ->
     lease_left = LEASE; reply(net_lease[s])
  :: else -> reply(0)
  fi
}

/* Of any lease: a measurement is a fact. A second copy changes nothing. */
inline record() {
#ifdef FAULT_ANSWER_BEFORE_COMMIT
  reply(net_lease[s]);
  if :: stored[net_lease[s]] = true :: skip fi
#else
  stored[net_lease[s]] = true; reply(net_lease[s])
#endif
}

inline finish() {
  if
#ifdef FAULT_NO_FENCE
  :: !job_done && stored[net_lease[s]] ->
#else
#ifdef FAULT_FINISH_EARLY
  :: !job_done && lease_left > 0 && net_lease[s] == lease_id ->
#else
  :: !job_done && lease_left > 0 && net_lease[s] == lease_id && stored[net_lease[s]] ->
#endif
#endif
     job_done = true; finished_by = net_lease[s]; lease_left = 0; reply(net_lease[s])
  :: job_done && net_lease[s] == finished_by -> reply(net_lease[s]) /* a repeat gets the first answer */
  :: else -> reply(0)
  fi
}

/* One process per slot: several heddled on one database. Each request is one transaction: all of it,
 * or nothing. */
active [SLOTS] proctype server() {
  byte s = _pid - 1; /* after ticks */
end:
  do
  :: atomic {
       net_kind[s] != NOTHING ->
       if
       :: net_kind[s] == CLAIM -> claim()
       :: net_kind[s] == RENEW -> renew()
       :: net_kind[s] == RECORD -> record()
       :: net_kind[s] == FINISH -> finish()
       :: skip /* lost on its way, or the server died before COMMIT */
       fi;
       net_kind[s] = NOTHING; net_from[s] = 0; net_lease[s] = 0; net_open[s] = false
     }
  od
}

#define put(s, kind, lease)                                                                         \
  net_kind[s] = kind; net_from[s] = me; net_lease[s] = lease; net_open[s] = true

/* Sends a request once, twice, or not at all. */
inline ask(kind, lease) {
  waiting[me] = kind; asked_left[me] = LEASE;
  if
  :: net_kind[0] == NOTHING -> put(0, kind, lease)
  :: net_kind[1] == NOTHING -> put(1, kind, lease)
  :: net_kind[0] == NOTHING && net_kind[1] == NOTHING -> put(0, kind, lease); put(1, kind, lease)
  :: skip
  fi
}

/* The connection is closed: no answer to it can come any more. */
inline hang_up() {
  if :: net_from[0] == me -> net_open[0] = false :: else fi;
  if :: net_from[1] == me -> net_open[1] = false :: else fi;
  waiting[me] = NOTHING; answered[me] = false; answer[me] = 0; asked_left[me] = 0
}

inline give_up_lease() {
  measuring[me] = false; left[me] = 0; mine = 0; is_measured = false
}

#ifdef FAULT_COUNT_FROM_ANSWER
#define granted_left LEASE
#else
#define granted_left asked_left[me]
#endif

inline hear() {
  if
  :: waiting[me] == CLAIM && answer[me] != 0 && granted_left > 1 ->
     mine = answer[me]; left[me] = granted_left; measuring[me] = true
  :: waiting[me] == RENEW && answer[me] != 0 && answer[me] == mine && granted_left > left[me] ->
     left[me] = granted_left
  :: waiting[me] == RENEW && answer[me] == 0 -> give_up_lease()
  :: waiting[me] == RECORD && answer[me] == spool[me] -> told[spool[me]] = true; spool[me] = 0
  :: waiting[me] == FINISH -> give_up_lease()
  :: else
  fi;
  hang_up()
}

active [AGENTS] proctype agent() {
  byte me = _pid - 1 - SLOTS; /* after ticks and the servers */
  byte mine;          /* the lease that this agent holds; 0: none */
  bool is_measured;
end:
  do
  :: atomic { waiting[me] == NOTHING && mine == 0 && spool[me] == 0 && !job_done -> ask(CLAIM, 0) }
  :: atomic { waiting[me] == NOTHING && mine != 0 && left[me] > 1 -> ask(RENEW, mine) }
  :: atomic { waiting[me] == NOTHING && spool[me] != 0 ->
#ifdef FAULT_FORGET_WHEN_SENT
       ask(RECORD, spool[me]); spool[me] = 0
#else
       ask(RECORD, spool[me])
#endif
     }
#ifdef FAULT_FINISH_EARLY
  :: atomic { waiting[me] == NOTHING && is_measured -> ask(FINISH, mine) }
#else
  :: atomic { waiting[me] == NOTHING && is_measured && spool[me] == 0 -> ask(FINISH, mine) }
#endif
  :: atomic { waiting[me] != NOTHING && answered[me] -> hear() }
  :: atomic { waiting[me] != NOTHING -> hang_up() } /* timeout */
  /* Everything is measured, and in the file before anything is sent. */
  :: atomic { measuring[me] && !is_measured && spool[me] == 0 ->
       measured[mine] = true; spool[me] = mine; is_measured = true; measuring[me] = false }
  /* Its own deadline expires: the child is killed. */
  :: atomic { mine != 0 && left[me] <= 1 -> give_up_lease() }
  /* kill -9 also ends the child; the files stay. */
  :: atomic { (mine != 0 || waiting[me] != NOTHING) -> give_up_lease(); hang_up() }
  od
}

#define kept(l) ((!told[l] || stored[l]) && (!measured[l] || stored[l] || spool[0] == l || spool[1] == l))
#define single (!(measuring[0] && measuring[1]) && (!(measuring[0] || measuring[1]) || lease_left > 0))
#define complete (!job_done || (finished_by == lease_id && stored[finished_by]))

active proctype properties() {
end:
  do
  :: !kept(1) || !kept(2) -> assert(false) /* kept */
  :: !single -> assert(false)                          /* single */
  :: !complete -> assert(false)                        /* complete */
#ifdef REACH
  :: job_done && lease_id == MOST_LEASES -> assert(false) /* reached */
#endif
  od
}
