/**
 * The numbered steps from an empty file to today's tables. A step that has been released is never
 * changed.
 */

import { ALERT_TABLES } from './alert-tables.ts';
import { LEASH_TABLES } from './leashes.ts';
import { NAME_KEY_TABLES, NAME_TABLES } from './name-tables.ts';

/** Step n brings a file from version n - 1 to n; `PRAGMA user_version` holds the number. */
export const MIGRATIONS: readonly string[] = [
  `
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
    created_at_ms INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX keys_by_live_name ON keys (name) WHERE state <> 'deleted';

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

  -- One row for each request that is under way.
  CREATE TABLE holds (
    request_id TEXT PRIMARY KEY,
    key_id TEXT NOT NULL,
    model TEXT NOT NULL,
    admitted_at_ms INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    hold_nanos INTEGER NOT NULL CHECK (hold_nanos >= 0)
  ) STRICT, WITHOUT ROWID;

  -- One row for each request that was admitted and has ended, in the order of their ends.
  CREATE TABLE journal (
    id INTEGER PRIMARY KEY,
    request_id TEXT NOT NULL UNIQUE,
    key_id TEXT NOT NULL,
    model TEXT NOT NULL,
    admitted_at_ms INTEGER NOT NULL,
    settled_at_ms INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('reported', 'counted', 'held')),
    prompt_tokens INTEGER NOT NULL CHECK (prompt_tokens >= 0),
    cached_tokens INTEGER NOT NULL CHECK (cached_tokens BETWEEN 0 AND prompt_tokens),
    completion_tokens INTEGER NOT NULL CHECK (completion_tokens >= 0),
    cost_nanos INTEGER NOT NULL CHECK (cost_nanos >= 0)
  ) STRICT;
  CREATE INDEX journal_by_admission ON journal (admitted_at_ms);

  -- What the journal adds up to, so that no figure needs a walk through it. Days and months are those of admission.
  CREATE TABLE usage_days (
    day TEXT NOT NULL,
    key_id TEXT NOT NULL,
    model TEXT NOT NULL,
    requests INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cost_nanos INTEGER NOT NULL,
    PRIMARY KEY (day, key_id, model)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE usage_months (
    key_id TEXT NOT NULL,
    month TEXT NOT NULL,
    requests INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost_nanos INTEGER NOT NULL,
    PRIMARY KEY (key_id, month)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  ALTER TABLE journal ADD COLUMN completion_id TEXT;
  ALTER TABLE journal ADD COLUMN first_byte_ms INTEGER CHECK (first_byte_ms >= 0);
  -- Not known of rows that were written before.
  ALTER TABLE journal ADD COLUMN hold_nanos INTEGER CHECK (hold_nanos >= 0);
  ALTER TABLE journal ADD COLUMN corrected_at_ms INTEGER;

  -- Months in the same detail as days, and both by source, so that usage in any shape comes from sums.
  DROP TABLE usage_days;
  CREATE TABLE usage_days (
    day TEXT NOT NULL,
    key_id TEXT NOT NULL,
    model TEXT NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('reported', 'counted', 'held')),
    requests INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cost_nanos INTEGER NOT NULL,
    PRIMARY KEY (day, key_id, model, source)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO usage_days SELECT strftime('%Y-%m-%d', admitted_at_ms / 1000, 'unixepoch'), key_id, model, source, count(*),
    sum(outcome NOT IN ('ok', 'cancelled')), sum(prompt_tokens), sum(completion_tokens), sum(cost_nanos)
    FROM journal GROUP BY 1, 2, 3, 4;
  DROP TABLE usage_months;
  CREATE TABLE usage_months (
    month TEXT NOT NULL,
    key_id TEXT NOT NULL,
    model TEXT NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('reported', 'counted', 'held')),
    requests INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cost_nanos INTEGER NOT NULL,
    PRIMARY KEY (month, key_id, model, source)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO usage_months SELECT substr(day, 1, 7), key_id, model, source, sum(requests), sum(errors), sum(prompt_tokens),
    sum(completion_tokens), sum(cost_nanos) FROM usage_days GROUP BY 1, 2, 3, 4;

  -- What the rows of the journal came to that were dropped because of their age.
  CREATE TABLE sealed_days (
    day TEXT NOT NULL,
    key_id TEXT NOT NULL,
    model TEXT NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('reported', 'counted', 'held')),
    requests INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cost_nanos INTEGER NOT NULL,
    PRIMARY KEY (day, key_id, model, source)
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
  `,
  `
  -- The model is the one that served; here is the one that was asked for, where that is another.
  ALTER TABLE journal ADD COLUMN requested_model TEXT;
  -- Not known of rows that were written before, nor of requests that never reached an upstream.
  ALTER TABLE journal ADD COLUMN upstream TEXT;
  ALTER TABLE journal ADD COLUMN attempts INTEGER CHECK (attempts >= 1);

  -- When the last of the requests was admitted: so that a key's last use needs no walk through the journal.
  ALTER TABLE usage_months ADD COLUMN last_at_ms INTEGER NOT NULL DEFAULT 0;
  UPDATE usage_months SET last_at_ms = ends.last_at_ms
    FROM (SELECT strftime('%Y-%m', admitted_at_ms / 1000, 'unixepoch') AS month, key_id, model, source,
            max(admitted_at_ms) AS last_at_ms FROM journal GROUP BY 1, 2, 3, 4) AS ends
    WHERE usage_months.month = ends.month AND usage_months.key_id = ends.key_id AND usage_months.model = ends.model
      AND usage_months.source = ends.source;
  `,
  `
  -- Why a request failed: a word, the error status of the upstream, and a sentence. NULL for a request that did not fail,
  -- and for rows that were written before.
  ALTER TABLE journal ADD COLUMN failure_reason TEXT;
  ALTER TABLE journal ADD COLUMN failure_status INTEGER;
  ALTER TABLE journal ADD COLUMN failure_message TEXT;
  `,
  `
  -- Input that was written to a prompt cache. Not known of rows that were written before.
  ALTER TABLE journal ADD COLUMN cache_write_tokens INTEGER CHECK (cache_write_tokens >= 0);

  -- The sums know what was read from caches and written to them; those of dropped rows do not.
  ALTER TABLE usage_days ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE usage_days ADD COLUMN cache_write_tokens INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE usage_months ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE usage_months ADD COLUMN cache_write_tokens INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE sealed_days ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE sealed_days ADD COLUMN cache_write_tokens INTEGER NOT NULL DEFAULT 0;
  UPDATE usage_days SET cached_tokens = reads.tokens
    FROM (SELECT strftime('%Y-%m-%d', admitted_at_ms / 1000, 'unixepoch') AS day, key_id, model, source,
            sum(cached_tokens) AS tokens FROM journal GROUP BY 1, 2, 3, 4) AS reads
    WHERE usage_days.day = reads.day AND usage_days.key_id = reads.key_id AND usage_days.model = reads.model
      AND usage_days.source = reads.source;
  UPDATE usage_months SET cached_tokens = reads.tokens
    FROM (SELECT substr(day, 1, 7) AS month, key_id, model, source, sum(cached_tokens) AS tokens
            FROM usage_days GROUP BY 1, 2, 3, 4) AS reads
    WHERE usage_months.month = reads.month AND usage_months.key_id = reads.key_id
      AND usage_months.model = reads.model AND usage_months.source = reads.source;
  `,
  `
  -- From then on a key is refused as if it were deleted. NULL for never.
  ALTER TABLE keys ADD COLUMN expires_at_ms INTEGER;

  -- How much a key may spend beside its limit of the month.
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

  -- What the requests of a sliding window came to, by time of admission: a hundred steps of the same length.
  CREATE TABLE budget_steps (
    key_id TEXT NOT NULL,
    window_s INTEGER NOT NULL,
    -- When the step begins.
    at_ms INTEGER NOT NULL,
    cost_nanos INTEGER NOT NULL CHECK (cost_nanos >= 0),
    PRIMARY KEY (key_id, window_s, at_ms)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- The price of the request, in USD per million tokens: input/cached input/output, then what else applied. Compact: each
  -- request writes it twice. Not known of rows that were written before.
  ALTER TABLE holds ADD COLUMN price TEXT;
  ALTER TABLE journal ADD COLUMN price TEXT;
  `,
  ALERT_TABLES,
  NAME_TABLES,
  LEASH_TABLES,
  `
  -- A few requests take long: with them, all that ended since a moment are found by their admission.
  CREATE INDEX journal_of_long_requests ON journal (settled_at_ms) WHERE settled_at_ms - admitted_at_ms > 300000;
  -- When the last of them was settled. Not known of rows that were dropped before.
  ALTER TABLE sealed_days ADD COLUMN settled_to_ms INTEGER NOT NULL DEFAULT 0;
  -- Steps were by time of admission, and are by time of settlement now.
  UPDATE budgets SET exact_from_ms
    = max(exact_from_ms, coalesce(((SELECT max(settled_at_ms) FROM journal) / (window_s * 10) + 1) * (window_s * 10), 0))
    WHERE window_s IS NOT NULL;
  `,
  NAME_KEY_TABLES,
];
