/** The table of leashes: which keys `run` has made, and which of them inside of which. A step that has been released is never changed. */

export const LEASH_TABLES = `
  -- A key that run has made is on its own leash, and on those of the runs around it, all of them.
  CREATE TABLE leashes (
    outer_id TEXT NOT NULL,
    key_id TEXT NOT NULL,
    PRIMARY KEY (outer_id, key_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX leashes_by_key ON leashes (key_id);
`;

/** The other keys on the leash of a key. */
export const INNER_IDS = 'SELECT key_id FROM leashes WHERE outer_id = ? AND key_id <> outer_id';
