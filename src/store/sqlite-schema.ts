// The tables of the embedded store, as the steps by which they came to be: a file of version n has had the first n. A step that was released never
// changes; what it lacks is a step of its own.

const ATTEMPTS = `
  CREATE TABLE attempts (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE, tag TEXT NOT NULL, tenant TEXT NOT NULL, action TEXT NOT NULL,
    record_key TEXT NOT NULL, run_key TEXT NOT NULL, n INTEGER NOT NULL, target TEXT, serialize TEXT, equal TEXT NOT NULL,
    format INTEGER NOT NULL, revision INTEGER NOT NULL, state TEXT NOT NULL, token TEXT NOT NULL, body TEXT NOT NULL,
    prepared_at INTEGER NOT NULL, dispatched_at INTEGER, unknown_at INTEGER, first_absent_at INTEGER, settled_at INTEGER, due_at INTEGER,
    next_at INTEGER, result TEXT, result_until INTEGER, expires_at INTEGER
  ) STRICT;
  CREATE INDEX attempts_by_key ON attempts (record_key, n);
  CREATE INDEX attempts_by_run ON attempts (run_key, seq);
  CREATE INDEX attempts_next ON attempts (next_at) WHERE next_at IS NOT NULL;
  CREATE INDEX attempts_target ON attempts (target) WHERE state <> 'settled';
  CREATE INDEX attempts_serialize ON attempts (serialize) WHERE state <> 'settled';
  CREATE INDEX attempts_equal ON attempts (equal) WHERE state IN ('unknown', 'escalated');
  CREATE INDEX attempts_unresolved ON attempts (tenant, action) WHERE state IN ('unknown', 'pending', 'escalated');
  CREATE INDEX attempts_results ON attempts (result_until) WHERE result_until IS NOT NULL;
  CREATE INDEX attempts_expired ON attempts (expires_at) WHERE expires_at IS NOT NULL;
  CREATE TABLE run_facts (
    tag TEXT NOT NULL, run_key TEXT NOT NULL, name TEXT NOT NULL, value ANY, kept_until INTEGER NOT NULL, PRIMARY KEY (tag, run_key, name)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX run_facts_kept ON run_facts (kept_until);
  CREATE TABLE stopped_runs (run_key TEXT PRIMARY KEY, stopped_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE places (
    tenant TEXT NOT NULL, action TEXT NOT NULL, id TEXT NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (tenant, action, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX places_until ON places (until);
  CREATE TABLE facts (name TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;
`

const PROPOSALS = `
  CREATE TABLE proposals (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE, tag TEXT NOT NULL, record_key TEXT NOT NULL, equal_key TEXT NOT NULL, run_key TEXT NOT NULL, agent_key TEXT NOT NULL,
    kind TEXT NOT NULL, format INTEGER NOT NULL, state TEXT NOT NULL, body TEXT NOT NULL, changes TEXT NOT NULL,
    created_at INTEGER NOT NULL, ends_at INTEGER, closed_at INTEGER, expires_at INTEGER
  ) STRICT;
  CREATE INDEX proposals_by_key ON proposals (record_key, seq);
  CREATE INDEX proposals_by_equal ON proposals (equal_key, seq);
  CREATE INDEX proposals_by_agent ON proposals (agent_key, created_at);
  CREATE INDEX proposals_grants ON proposals (run_key) WHERE kind = 'session' AND state = 'approved';
  CREATE INDEX proposals_ends ON proposals (ends_at) WHERE ends_at IS NOT NULL;
  CREATE INDEX proposals_closed ON proposals (closed_at) WHERE closed_at IS NOT NULL;
  CREATE INDEX proposals_expired ON proposals (expires_at) WHERE expires_at IS NOT NULL;
  CREATE TABLE sessions (hash TEXT PRIMARY KEY, text TEXT NOT NULL, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX sessions_until ON sessions (until);
`

export const SCHEMA_STEPS: readonly string[] = [ATTEMPTS, PROPOSALS]
