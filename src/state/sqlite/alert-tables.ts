/** The tables of alerts: what was told, and what is to be delivered. A step of the migrations. */

export const ALERT_TABLES = `
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
`;
