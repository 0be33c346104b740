/** Leashes: which keys `run` has made, which of them inside of which, and what bounds them. */

export const LEASH_TABLES = `
-- A key that run has made is on its own leash, and on those of the runs around it, all of them.
CREATE TABLE inf_gw.leashes (
  outer_id text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (outer_id, key_id)
);
CREATE INDEX leashes_by_key ON inf_gw.leashes (key_id);
`;
