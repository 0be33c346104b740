/** The steps of the tables that keep usage by user, tag and app. A step that has been released is never changed. */

export const NAME_TABLES = `
  -- Who a request was for, as its client says. NULL where it does not, and for rows that were written before.
  ALTER TABLE journal ADD COLUMN by_user TEXT;
  ALTER TABLE journal ADD COLUMN by_tag TEXT;
  ALTER TABLE journal ADD COLUMN by_app TEXT;

  -- The names that have sums of their own in a month, numbered in the order in which they came. All others share one.
  CREATE TABLE usage_names (
    month TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('user', 'tag', 'app')),
    name TEXT NOT NULL CHECK (name <> ''),
    id INTEGER NOT NULL CHECK (id BETWEEN 1 AND 1000),
    PRIMARY KEY (month, kind, name)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX usage_names_by_id ON usage_names (month, kind, id);

  -- What the requests with a name add up to. What is missing to the sums of a day has none.
  CREATE TABLE usage_name_days (
    day TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('user', 'tag', 'app')),
    name TEXT NOT NULL CHECK (name <> ''),
    key_id TEXT NOT NULL,
    model TEXT NOT NULL,
    requests INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cost_nanos INTEGER NOT NULL,
    PRIMARY KEY (kind, day, name, key_id, model)
  ) STRICT, WITHOUT ROWID;
`;

export const NAME_KEY_TABLES = `
  -- The names that each key has a place for in a month. Its requests with other names count as others.
  CREATE TABLE usage_name_keys (
    month TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('user', 'tag', 'app')),
    key_id TEXT NOT NULL,
    name TEXT NOT NULL CHECK (name <> ''),
    PRIMARY KEY (month, kind, key_id, name)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO usage_name_keys SELECT DISTINCT n.month, n.kind, d.key_id, n.name FROM usage_name_days d
    JOIN usage_names n ON n.month = substr(d.day, 1, 7) AND n.kind = d.kind AND n.name = d.name;
`;
