/** The table in a state file of the responses that hosts keep. */

export const KEPT_TABLE = `
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
  CREATE INDEX kept_responses_by_time ON kept_responses (at_ms);
`;
