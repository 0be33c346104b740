/** Asks the gateway's own code whether it reads a name of answers and events where the table says so, and nowhere else. */
import { DIALECTS } from '../../src/dialects/dialects.ts';
import { COUNT_TOKENS } from '../../src/dialects/messages/messages-count-tokens.ts';
import type { Name } from './names.ts';
import type { Row } from './rows.ts';
import type { Format } from './table.ts';
import type { Alternative } from './types.ts';

/** What is wrong with a row; undefined if the gateway does what it says. */
export function answerFault(format: Format, row: Row, name: Name, isEvent: boolean): string | undefined {
  const readings = new Set(valuesOf(name).map((value) => JSON.stringify(reading(format, name.say(value), isEvent))));
  const isRead = readings.size > 1;
  if (isRead) return row.what === 'free' ? 'it changes what is billed' : undefined;
  // What is in an object has names of its own.
  const isElsewhere = row.what === 'free' || (isEvent && row.shown === 'whole');
  return isElsewhere || name.alternatives.some(({ kind }) => kind === 'object') ? undefined : 'it changes nothing';
}

const VALUES: Readonly<Record<Alternative['kind'], readonly unknown[]>> = {
  string: ['a', 'b b b', 'c'.repeat(100), ''],
  number: [3, 5_000],
  boolean: [true, false],
  null: [null],
  text: [],
  unknown: [{}, { any: 'b b b' }],
  object: [{}],
};

/** Values that differ in whatever the gateway could read, and none. */
function valuesOf({ alternatives }: Name): readonly unknown[] {
  const values = alternatives.flatMap(({ kind, value, inArray }) => {
    const values = kind === 'text' ? [value] : VALUES[kind];
    return inArray ? values.map((each) => [each]) : values;
  });
  return [...values, null];
}

/** All that the gateway takes from an answer or an event. */
function reading(format: Format, said: Readonly<Record<string, unknown>>, isEvent: boolean): unknown {
  const dialect = format === 'count_tokens' ? COUNT_TOKENS : DIALECTS[format];
  if (!isEvent) return dialect.readAnswer(said);
  const judgement = dialect
    .startStream('request')
    .judge({ data: JSON.stringify(said), text: '', name: undefined } as never);
  return 'facts' in judgement ? judgement.facts : judgement.kind;
}
