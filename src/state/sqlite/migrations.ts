/** The numbered schema migrations from an empty file to the current tables. A released step never changes. */

// Not `IN (…)`: for a list of three, SQLite builds a table per checked row, which takes 2 µs.
const SOURCE = "source TEXT NOT NULL CHECK (source = 'reported' OR source = 'counted' OR source = 'held')";
const KIND = "kind TEXT NOT NULL CHECK (kind = 'user' OR kind = 'tag' OR kind = 'app')";

const FIGURES = `
    requests INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cost_nanos INTEGER NOT NULL,`;

const TABLES = `
  CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    preview TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('enabled', 'disabled', 'deleted')),
    rpm INTEGER CHECK (rpm >= 1),
    tpm INTEGER CHECK (tpm >= 1),
    concurrency INTEGER CHECK (concurrency >= 1),
    spend_limit_nanos INTEGER CHECK (spend_limit_nanos >= 0),
    allowlist TEXT CHECK (allowlist IS NULL OR json_type(allowlist) = 'array'),
    created_at_ms INTEGER NOT NULL,
    -- From then on a key is refused as if it were deleted. NULL for never.
    expires_at_ms INTEGER,
    group_id TEXT,
    -- The key that has made it.
    parent_id TEXT CHECK (parent_id <> id),
    may_create INTEGER NOT NULL DEFAULT 0 CHECK (may_create IN (0, 1)),
    -- Whether run has made it.
    is_leashed INTEGER NOT NULL DEFAULT 0 CHECK (is_leashed IN (0, 1))
  ) STRICT;
  CREATE UNIQUE INDEX keys_by_live_name ON keys (name) WHERE state <> 'deleted';
  CREATE INDEX keys_by_group ON keys (group_id) WHERE group_id IS NOT NULL;
  CREATE INDEX keys_by_parent ON keys (parent_id) WHERE parent_id IS NOT NULL;

  -- Named sets of keys and groups, which share limits. A limit that is NULL is none.
  CREATE TABLE groups (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('enabled', 'disabled', 'deleted')),
    rpm INTEGER CHECK (rpm >= 1),
    tpm INTEGER CHECK (tpm >= 1),
    concurrency INTEGER CHECK (concurrency >= 1),
    spend_limit_nanos INTEGER CHECK (spend_limit_nanos >= 0),
    allowlist TEXT CHECK (allowlist IS NULL OR json_type(allowlist) = 'array'),
    -- The group that it is in.
    group_id TEXT CHECK (group_id <> id),
    created_at_ms INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX groups_by_live_name ON groups (name) WHERE state <> 'deleted';
  CREATE INDEX groups_by_group ON groups (group_id) WHERE group_id IS NOT NULL;

  -- What each end user of a key or a group may use and spend: the row without a name is for all, the others are for one.
  -- Where there is no row for all, end users are no levels. Budgets are in the table of budgets, by owner_id/name.
  CREATE TABLE users (
    owner_id TEXT NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('enabled', 'disabled')),
    rpm INTEGER CHECK (rpm >= 1),
    tpm INTEGER CHECK (tpm >= 1),
    concurrency INTEGER CHECK (concurrency >= 1),
    spend_limit_nanos INTEGER CHECK (spend_limit_nanos >= 0),
    -- Whether a request has to name its end user.
    required INTEGER NOT NULL CHECK (required IN (0, 1)),
    PRIMARY KEY (owner_id, name)
  ) STRICT, WITHOUT ROWID;

  -- How much a key may spend beside its limit of the month, or a group, or an end user.
  CREATE TABLE budgets (
    key_id TEXT NOT NULL,
    -- day, week or total; or the length of a sliding window, such as 24h.
    period TEXT NOT NULL,
    limit_nanos INTEGER NOT NULL CHECK (limit_nanos >= 0),
    -- The length of a sliding window, and from when on its steps are exact: those before may be too much.
    window_s INTEGER CHECK (window_s >= 1),
    exact_from_ms INTEGER CHECK ((exact_from_ms IS NULL) = (window_s IS NULL)),
    PRIMARY KEY (key_id, period)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX budgets_by_window ON budgets (key_id, window_s) WHERE window_s IS NOT NULL;

  -- What the requests of a sliding window came to, by time of settlement: a hundred steps of the same length.
  CREATE TABLE budget_steps (
    key_id TEXT NOT NULL,
    window_s INTEGER NOT NULL,
    -- When the step begins.
    at_ms INTEGER NOT NULL,
    cost_nanos INTEGER NOT NULL CHECK (cost_nanos >= 0),
    PRIMARY KEY (key_id, window_s, at_ms)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX budget_steps_of_users ON budget_steps (window_s, at_ms) WHERE key_id LIKE '%/%';

  -- The balance is the sum of the credit entries less the sum of the journal's costs.
  CREATE TABLE account (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    balance_nanos INTEGER NOT NULL
  ) STRICT;
  INSERT INTO account VALUES (1, 0);

  CREATE TABLE credit_entries (
    id INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    amount_nanos INTEGER NOT NULL,
    balance_nanos INTEGER NOT NULL,
    note TEXT NOT NULL
  ) STRICT;

  -- One row for each request in flight.
  CREATE TABLE holds (
    request_id TEXT PRIMARY KEY,
    key_id TEXT NOT NULL,
    model TEXT NOT NULL,
    admitted_at_ms INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    hold_nanos INTEGER NOT NULL CHECK (hold_nanos >= 0),
    price TEXT,
    -- The ids of the levels that it is booked to besides its key, from inside out, as a JSON array. NULL for none.
    levels TEXT
  ) STRICT, WITHOUT ROWID;

  -- One row for each request that was admitted and has ended, in the order of their ends.
  CREATE TABLE journal (
    id INTEGER PRIMARY KEY,
    request_id TEXT NOT NULL UNIQUE,
    key_id TEXT NOT NULL,
    -- The one that served, and the one that was asked for, where that is another.
    model TEXT NOT NULL,
    requested_model TEXT,
    admitted_at_ms INTEGER NOT NULL,
    settled_at_ms INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    ${SOURCE},
    prompt_tokens INTEGER NOT NULL CHECK (prompt_tokens >= 0),
    -- Of the prompt: what was read from a prompt cache, and what was written to one.
    cached_tokens INTEGER NOT NULL CHECK (cached_tokens BETWEEN 0 AND prompt_tokens),
    cache_write_tokens INTEGER NOT NULL CHECK (cache_write_tokens >= 0),
    completion_tokens INTEGER NOT NULL CHECK (completion_tokens >= 0),
    cost_nanos INTEGER NOT NULL CHECK (cost_nanos >= 0),
    hold_nanos INTEGER NOT NULL CHECK (hold_nanos >= 0),
    -- The price of the request, in USD per million tokens: input/cached input/output, then what else applied. Compact:
    -- each request writes it twice.
    price TEXT,
    completion_id TEXT,
    first_byte_ms INTEGER CHECK (first_byte_ms >= 0),
    -- NULL for a request that never reached an upstream.
    upstream TEXT,
    attempts INTEGER CHECK (attempts >= 1),
    -- Why it failed: a word, the error status of the upstream, and a sentence. NULL for a request that did not.
    failure_reason TEXT,
    failure_status INTEGER,
    failure_message TEXT,
    -- Who it was for, as its client says. NULL where it does not.
    by_user TEXT,
    by_tag TEXT,
    by_app TEXT,
    corrected_at_ms INTEGER,
    -- As in its hold.
    levels TEXT
  ) STRICT;
  CREATE INDEX journal_by_admission ON journal (admitted_at_ms);
  -- A few requests take long: with them, all that ended since a moment are found by their admission.
  CREATE INDEX journal_of_long_requests ON journal (settled_at_ms) WHERE settled_at_ms - admitted_at_ms > 300000;

  -- What the journal adds up to, so that no figure needs a walk through it. Days and months are those of admission.
  CREATE TABLE usage_days (
    day TEXT NOT NULL,
    key_id TEXT NOT NULL,
    model TEXT NOT NULL,
    ${SOURCE},${FIGURES}
    -- The groups that these requests were booked to, from inside out, as a JSON array.
    group_ids TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (day, key_id, model, source, group_ids)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE usage_months (
    month TEXT NOT NULL,
    key_id TEXT NOT NULL,
    model TEXT NOT NULL,
    ${SOURCE},${FIGURES}
    -- When the last of the requests was admitted: so that a key's last use needs no walk through the journal.
    last_at_ms INTEGER NOT NULL,
    PRIMARY KEY (month, key_id, model, source)
  ) STRICT, WITHOUT ROWID;

  -- What the rows of the journal came to that were dropped because of their age.
  CREATE TABLE sealed_days (
    day TEXT NOT NULL,
    key_id TEXT NOT NULL,
    model TEXT NOT NULL,
    ${SOURCE},${FIGURES}
    group_ids TEXT NOT NULL,
    -- When the last of them was settled.
    settled_to_ms INTEGER NOT NULL,
    PRIMARY KEY (day, key_id, model, source, group_ids)
  ) STRICT, WITHOUT ROWID;

  -- What requests add up to for the levels that they were booked to besides their key: the keys above it, groups, and end
  -- users as owner_id/name. A row is for all keys and models: which of them groups were booked by, the days of keys say. Of
  -- end users there may be millions, so each of their requests writes its day alone: when that is old, it is added to its
  -- month, and dropped when nothing is bounded by it any more.
  CREATE TABLE level_days (
    level_id TEXT NOT NULL,
    day TEXT NOT NULL,${FIGURES}
    PRIMARY KEY (level_id, day)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE level_months (
    level_id TEXT NOT NULL,
    month TEXT NOT NULL,${FIGURES}
    PRIMARY KEY (level_id, month)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE sealed_levels (
    level_id TEXT NOT NULL,
    day TEXT NOT NULL,${FIGURES}
    settled_to_ms INTEGER NOT NULL,
    PRIMARY KEY (level_id, day)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sealed_levels_of_users ON sealed_levels (day) WHERE level_id LIKE '%/%';

  -- The names that have sums of their own in a month, numbered in the order in which they came. All others share one.
  CREATE TABLE usage_names (
    month TEXT NOT NULL,
    ${KIND},
    name TEXT NOT NULL CHECK (name <> ''),
    id INTEGER NOT NULL CHECK (id BETWEEN 1 AND 1000),
    PRIMARY KEY (month, kind, name)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX usage_names_by_id ON usage_names (month, kind, id);

  -- The names that each key has a place for in a month. Its requests with other names count as others.
  CREATE TABLE usage_name_keys (
    month TEXT NOT NULL,
    ${KIND},
    key_id TEXT NOT NULL,
    name TEXT NOT NULL CHECK (name <> ''),
    PRIMARY KEY (month, kind, key_id, name)
  ) STRICT, WITHOUT ROWID;

  -- What the requests with a name add up to. What is missing to the sums of a day has none.
  CREATE TABLE usage_name_days (
    day TEXT NOT NULL,
    ${KIND},
    name TEXT NOT NULL CHECK (name <> ''),
    key_id TEXT NOT NULL,
    model TEXT NOT NULL,${FIGURES}
    PRIMARY KEY (kind, day, name, key_id, model)
  ) STRICT, WITHOUT ROWID;

  -- How often a key was refused, and why. Refused requests have no row of their own.
  CREATE TABLE refusals (
    month TEXT NOT NULL,
    key_id TEXT NOT NULL,
    code TEXT NOT NULL,
    reason TEXT NOT NULL,
    requests INTEGER NOT NULL,
    last_at_ms INTEGER NOT NULL,
    PRIMARY KEY (month, key_id, code, reason)
  ) STRICT, WITHOUT ROWID;

  -- The last alert about each subject, so that each crossing is reported once.
  CREATE TABLE alert_marks (
    subject TEXT PRIMARY KEY,
    -- What it was about, such as a month. In another one everything is news.
    span TEXT NOT NULL,
    value TEXT NOT NULL,
    told_at_ms INTEGER NOT NULL,
    until_ms INTEGER,
    revision INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- One row for each event and place that it goes to.
  CREATE TABLE alert_outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id TEXT NOT NULL,
    target TEXT NOT NULL,
    body TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
    attempts INTEGER NOT NULL DEFAULT 0,
    -- When to try it next. Whoever claims it puts that off.
    due_at_ms INTEGER NOT NULL,
    claimed_by TEXT,
    answer TEXT
  ) STRICT;
  CREATE INDEX alert_outbox_by_target ON alert_outbox (target, due_at_ms) WHERE state = 'pending';

  -- The responses that hosts keep, and their items, by the key that may refer to them.
  CREATE TABLE kept_responses (
    key_id TEXT NOT NULL,
    -- Of the response, or of one of its items.
    id TEXT NOT NULL,
    response_id TEXT NOT NULL,
    -- What comes in with it.
    tokens INTEGER NOT NULL CHECK (tokens >= 0),
    upstream TEXT NOT NULL,
    model TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (key_id, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX kept_responses_by_response ON kept_responses (key_id, response_id);
  CREATE INDEX kept_responses_by_age ON kept_responses (key_id, at_ms);
  CREATE INDEX kept_responses_by_time ON kept_responses (at_ms);
`;

const STEP_2 = `
  -- The end user that the request names.
  ALTER TABLE holds ADD COLUMN end_user TEXT;

  -- Of a key that creates and deletes many, those of today and those that are left are found without the others.
  DROP INDEX keys_by_parent;
  CREATE INDEX keys_by_parent ON keys (parent_id, created_at_ms) WHERE parent_id IS NOT NULL;
  CREATE INDEX live_keys_by_parent ON keys (parent_id, id) WHERE parent_id IS NOT NULL AND state <> 'deleted';
`;

/** The columns of a hold, in the order of its array in `hold_batches.holds`. */
const HOLD_COLUMNS = [
  ...[
    'request_id',
    'key_id',
    'model',
    'admitted_at_ms',
    'input_tokens',
    'output_tokens',
    'hold_nanos',
    'price',
    'levels',
  ],
  'end_user',
];
const HOLDS = HOLD_COLUMNS.join(', ');

const STEP_3 = `
  -- The holds that one batch of the ledger has taken, or let grow: a JSON array with an array of columns for each.
  CREATE TABLE hold_batches (
    id INTEGER PRIMARY KEY,
    holds TEXT NOT NULL
  ) STRICT;
  INSERT INTO hold_batches (holds) SELECT json_group_array(json_array(${HOLDS})) FROM holds HAVING count(*) > 0;
  DROP TABLE holds;

  -- One row for each request in flight: the last hold of each request that is not in the journal.
  CREATE VIEW holds AS SELECT ${HOLDS} FROM (
      SELECT ${HOLD_COLUMNS.map((name, at) => `h.value ->> ${at} AS ${name}`).join(', ')}, max(b.id * 1000000 + h.key)
      FROM hold_batches AS b JOIN json_each(b.holds) AS h GROUP BY 1) AS latest
    WHERE NOT EXISTS (SELECT 1 FROM journal AS j WHERE j.request_id = latest.request_id);
  CREATE TRIGGER holds_insert INSTEAD OF INSERT ON holds BEGIN
    INSERT INTO hold_batches (holds)
      VALUES (json_array(json_array(${HOLD_COLUMNS.map((name) => `new.${name}`).join(', ')})));
  END;
`;

/** Step n migrates from version n - 1 to n. `PRAGMA user_version` contains the version. */
export const MIGRATIONS: readonly string[] = [TABLES, STEP_2, STEP_3];
