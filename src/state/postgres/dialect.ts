/** The PostgreSQL dialect of the operator's book. */
import type { Dialect } from '../operation.ts';

const ADMITTED = "to_timestamp(admitted_at_ms / 1000) AT TIME ZONE 'UTC'";

export const DIALECT: Dialect = {
  isShared: true,
  forUpdate: 'FOR UPDATE',
  admissionDay: `to_char(${ADMITTED}, 'YYYY-MM-DD')`,
  admissionMonth: `to_char(${ADMITTED}, 'YYYY-MM')`,
  least: 'least',
  greatest: 'greatest',
  jsonArray: 'jsonb_agg',
  jsonObject: 'jsonb_build_object',
  textsIn: (column) => `jsonb_array_elements_text(CAST(${column} AS jsonb))`,
  isAnyOf: (column, parameter) => `${column} = ANY (${parameter})`,
};
