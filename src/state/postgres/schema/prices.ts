/** The columns that tell which price a request is held and charged by. */

export const PRICE_COLUMNS = `
-- As in the journal of a state file. Not known of rows that were written before.
ALTER TABLE inf_gw.holds ADD COLUMN price text;
ALTER TABLE inf_gw.journal ADD COLUMN price text;
`;
