/** The tables of a shared state, and the locking rules for writers. */

/**
 * A transaction that changes money, sums or nodes, or writes to the log, first locks the row of `account`. With this
 * single first lock, transactions cannot deadlock. An edit of a key locks the key before it, which gateways never do.
 * Reads need no lock.
 *
 * Times in `_us` are the ledger's, in microseconds since 1970. They follow the database's clock and never decrease.
 */
export const TABLES = `
CREATE TABLE inf_gw.keys (
  id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  hash text COLLATE "C" NOT NULL UNIQUE,
  preview text NOT NULL,
  state text NOT NULL CHECK (state IN ('enabled', 'disabled', 'deleted')),
  rpm bigint CHECK (rpm >= 1),
  tpm bigint CHECK (tpm >= 1),
  concurrency bigint CHECK (concurrency >= 1),
  spend_limit_nanos bigint CHECK (spend_limit_nanos >= 0),
  -- The models that the key may call, as a JSON array; NULL allows all.
  allowlist jsonb CHECK (jsonb_typeof(allowlist) = 'array'),
  created_at_ms bigint NOT NULL,
  -- From then on a key is refused as if it were deleted. NULL for never.
  expires_at_ms bigint,
  group_id text COLLATE "C",
  -- The key that has made it.
  parent_id text COLLATE "C" CHECK (parent_id <> id),
  may_create bigint NOT NULL DEFAULT 0 CHECK (may_create IN (0, 1)),
  -- Whether run has made it.
  is_leashed bigint NOT NULL DEFAULT 0 CHECK (is_leashed IN (0, 1))
);
CREATE UNIQUE INDEX keys_by_live_name ON inf_gw.keys (name) WHERE state <> 'deleted';
CREATE INDEX keys_by_group ON inf_gw.keys (group_id) WHERE group_id IS NOT NULL;
CREATE INDEX keys_by_parent ON inf_gw.keys (parent_id) WHERE parent_id IS NOT NULL;

-- The listings of the last minute, which are nowhere else: one row for each key and entry of the log.
CREATE TABLE inf_gw.listings (
  key_id text COLLATE "C" NOT NULL,
  at_us bigint NOT NULL,
  listings bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX listings_by_time ON inf_gw.listings (at_us);

-- What gateways ask and operators edit, in the one order in which every gateway decides it. Its end is in the account.
CREATE TABLE inf_gw.log (
  seq bigint PRIMARY KEY,
  at_us bigint NOT NULL,
  -- Whose requests these are; 0 for what no gateway asks.
  node_id int NOT NULL,
  -- JSON; NULL where only decisions are written.
  commands text,
  -- What is stored of keys that not every gateway knows, as of just before the commands. Of an edit, as of after it, and
  -- what was stored before.
  facts text,
  facts_before text,
  -- The last entry that its gateway had followed when it asked for this. With this entry, it is recorded how that was
  -- decided, and all before it: JSON of those of other gateways that it did not know to be recorded.
  seen_seq bigint,
  recorded text,
  -- With this entry, what the gateway has decided on this earlier one of its own is written: how it has decided, and a sum
  -- over the state that it came to, which all others must have come to as well.
  written_seq bigint,
  decided text,
  digest text
);
ALTER TABLE inf_gw.log ALTER commands SET STORAGE EXTERNAL, ALTER facts SET STORAGE EXTERNAL;

-- The last entry of each gateway that asks for decisions, and the last one whose decisions are in the tables.
CREATE TABLE inf_gw.positions (
  node_id int PRIMARY KEY,
  asked_seq bigint NOT NULL,
  written_seq bigint NOT NULL
) WITH (fillfactor = 50);

-- The gateways. A node decides under its epoch; a new one shuts out whoever had the name before.
CREATE TABLE inf_gw.nodes (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL UNIQUE,
  -- One process of that name.
  instance text NOT NULL,
  version text NOT NULL,
  -- The newest rules that it can decide by.
  rules int NOT NULL DEFAULT 1,
  address text NOT NULL,
  -- A time, so that none is given twice, also when the database was restored to an earlier point.
  epoch bigint NOT NULL,
  -- The process of the server by which it has joined, and by which alone it leaves.
  pid int NOT NULL DEFAULT 0,
  started_at_ms bigint NOT NULL,
  -- When it was last heard of; 0 once it has stopped.
  alive_us bigint NOT NULL,
  -- When it stopped in an orderly way; 0 if it did not.
  stopped_us bigint NOT NULL DEFAULT 0,
  -- The last entry for which it was shut out: one that no gateway asks.
  shut_seq bigint NOT NULL DEFAULT 0,
  -- The last entry of the log that it has followed.
  seen_seq bigint NOT NULL DEFAULT 0,
  -- What it admitted and charged in the minute before its last sign of life, by its own count.
  requests bigint NOT NULL DEFAULT 0,
  tokens bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- One row for each request in flight.
CREATE TABLE inf_gw.holds (
  request_id text COLLATE "C" PRIMARY KEY,
  node_id int NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  model text NOT NULL,
  admitted_us bigint NOT NULL,
  input_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  reserved_tokens bigint NOT NULL,
  hold_nanos bigint NOT NULL CHECK (hold_nanos >= 0),
  has_slot boolean NOT NULL DEFAULT true,
  -- As in the journal of a state file.
  price text,
  -- The ids of the levels that it is booked to besides its key, from inside out, as a JSON array. NULL for none.
  levels text
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX holds_by_key ON inf_gw.holds (key_id, admitted_us);

-- Requests in flight that an operator stops, wherever they run. Their node removes the row.
CREATE TABLE inf_gw.stops (
  request_id text COLLATE "C" PRIMARY KEY,
  node_id int NOT NULL,
  at_us bigint NOT NULL
);

-- One row for each request that was admitted and has ended. Partitions are months of admission.
CREATE SEQUENCE inf_gw.journal_ids;
CREATE TABLE inf_gw.journal (
  id bigint NOT NULL,
  request_id text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  model text NOT NULL,
  requested_model text,
  admitted_at_ms bigint NOT NULL,
  settled_at_ms bigint NOT NULL,
  outcome text NOT NULL,
  source text NOT NULL CHECK (source IN ('reported', 'counted', 'held')),
  prompt_tokens bigint NOT NULL CHECK (prompt_tokens >= 0),
  cached_tokens bigint NOT NULL CHECK (cached_tokens BETWEEN 0 AND prompt_tokens),
  cache_write_tokens bigint NOT NULL CHECK (cache_write_tokens >= 0),
  completion_tokens bigint NOT NULL CHECK (completion_tokens >= 0),
  cost_nanos bigint NOT NULL CHECK (cost_nanos >= 0),
  hold_nanos bigint NOT NULL CHECK (hold_nanos >= 0),
  price text,
  completion_id text,
  first_byte_ms bigint CHECK (first_byte_ms >= 0),
  upstream text,
  attempts bigint CHECK (attempts >= 1),
  failure_reason text,
  failure_status bigint,
  failure_message text,
  -- Who it was for, as its client says. NULL where it does not.
  by_user text,
  by_tag text,
  by_app text,
  corrected_at_ms bigint,
  -- As in its hold.
  levels text,
  node_id int,
  -- The microseconds beyond both times. NULL where no window of requests has the admission.
  admitted_micros smallint DEFAULT 0,
  settled_micros smallint NOT NULL DEFAULT 0,
  PRIMARY KEY (request_id, admitted_at_ms)
) PARTITION BY RANGE (admitted_at_ms);
CREATE INDEX journal_by_admission ON inf_gw.journal (admitted_at_ms, id);
-- A few requests take long: with them, all that ended since a moment are found by their admission.
CREATE INDEX journal_of_long_requests ON inf_gw.journal (settled_at_ms) WHERE settled_at_ms - admitted_at_ms > 300000;
-- Rows that no month has a partition for: none, as long as a gateway runs once a month.
CREATE TABLE inf_gw.journal_other PARTITION OF inf_gw.journal DEFAULT;

-- What the journal adds up to, so that no figure needs a walk through it. Days and months are those of admission.
CREATE TABLE inf_gw.usage_days (
  day text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL CHECK (source IN ('reported', 'counted', 'held')),
  requests bigint NOT NULL,
  errors bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  cached_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  cost_nanos bigint NOT NULL,
  -- The groups that these requests were booked to, from inside out, as a JSON array.
  group_ids text COLLATE "C" NOT NULL DEFAULT '[]',
  PRIMARY KEY (key_id, day, model, source, group_ids)
) WITH (fillfactor = 50);
CREATE TABLE inf_gw.usage_months (
  month text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL CHECK (source IN ('reported', 'counted', 'held')),
  requests bigint NOT NULL,
  errors bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  cached_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  cost_nanos bigint NOT NULL,
  last_at_ms bigint NOT NULL,
  PRIMARY KEY (key_id, month, model, source)
) WITH (fillfactor = 50);
-- What the rows of the journal came to that were dropped because of their age, and when the last of them was settled.
CREATE TABLE inf_gw.sealed_days (LIKE inf_gw.usage_days INCLUDING ALL, settled_to_ms bigint NOT NULL);

-- The balance is the sum of the credit entries less the sum of the journal's costs.
CREATE TABLE inf_gw.account (
  id int PRIMARY KEY CHECK (id = 1),
  balance_nanos bigint NOT NULL,
  -- The sum of all open holds.
  held_nanos bigint NOT NULL,
  -- The number and the time of the last entry of the log, and when the clock came back the last time.
  seq bigint NOT NULL DEFAULT 0,
  last_us bigint NOT NULL,
  clock_us bigint NOT NULL DEFAULT 0,
  -- The last entry of the log of which it is recorded how it was decided, and all before it.
  recorded_seq bigint NOT NULL DEFAULT 0,
  -- The number of the rules that gateways decide by.
  rules int NOT NULL DEFAULT 1
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
INSERT INTO inf_gw.account (id, balance_nanos, held_nanos, last_us) VALUES (1, 0, 0, 0);
CREATE TABLE inf_gw.credit_entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at_ms bigint NOT NULL,
  amount_nanos bigint NOT NULL,
  balance_nanos bigint NOT NULL,
  note text NOT NULL
);

-- How often a key was refused, and why. Refused requests have no row of their own.
CREATE TABLE inf_gw.refusals (
  month text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  code text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  requests bigint NOT NULL,
  last_at_ms bigint NOT NULL,
  PRIMARY KEY (key_id, month, code, reason)
);

CREATE FUNCTION inf_gw.now_us() RETURNS bigint LANGUAGE sql VOLATILE
  AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$;
CREATE FUNCTION inf_gw.utc_month(p_us bigint) RETURNS text LANGUAGE sql STABLE
  AS $$ SELECT to_char(to_timestamp(p_us / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM') $$;
CREATE FUNCTION inf_gw.utc_day(p_us bigint) RETURNS text LANGUAGE sql STABLE
  AS $$ SELECT to_char(to_timestamp(p_us / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD') $$;
`;
