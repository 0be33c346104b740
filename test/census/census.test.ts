/** Every name in the official libraries has a verdict, and the gateway does what that says. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Name } from './names.ts';
import { answerFault } from './probe-answer.ts';
import { requestFault } from './probe-request.ts';
import type { Row } from './rows.ts';
import { PLACES, type Place, readLibraries } from './table.ts';
import { Types } from './types.ts';

const types = new Types(new URL('./', import.meta.url));
after(() => types.close());
const libraries = readLibraries(types);

for (const place of PLACES) {
  const { format, title, isRequest, table } = place;
  const names = libraries.get(place) ?? [];
  const isShared = format === 'count_tokens' && isRequest;
  const all = new Set(names.flatMap((each) => [...each.keys()]));
  describe(`${title}: ${isRequest ? 'requests' : 'answers and events'}`, () => {
    test('every name in the libraries is in the table', () => {
      const unknown = [...all].filter((name) => table.rowOf(name) === undefined);
      assert.deepEqual(unknown, [], `decide what the gateway does with them, in test/census/tables`);
    });

    test('every name in the table is in the libraries', () => {
      // A request to count has only some of those of messages.
      if (isShared) return;
      const used = new Set([...all].map((name) => table.rowOf(name)?.name));
      assert.deepEqual(
        table.names.filter((name) => !used.has(name)),
        [],
      );
    });

    test('the gateway does what the table says', () => {
      const faults = names.flatMap((each, root) => [...each].flatMap((entry) => faultsOf(place, root, entry)));
      assert.deepEqual(Object.fromEntries(faults), {});
    });
  });
}

type Fault = readonly [name: string, fault: string];

function faultsOf(place: Place, root: number, [name, said]: readonly [string, Name]): readonly Fault[] {
  const row = place.table.rowOf(name);
  const fault = row && faultOf(place, row, said, root > 0);
  return fault === undefined ? [] : [[name, fault]];
}

function faultOf({ format, isRequest, table }: Place, row: Row, name: Name, isEvent: boolean): string | undefined {
  if (!isRequest) return answerFault(format, row, name, isEvent);
  // Its values have rows of their own.
  return table.hasValues(row.name) ? undefined : requestFault(format, row, name);
}
