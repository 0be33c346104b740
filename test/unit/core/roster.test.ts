/** A roster: members by their places, which are reused. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Roster } from '../../../src/core/roster.ts';

describe('a roster', () => {
  test('has the members that were added and not removed, whatever the order', () => {
    const roster = new Roster<{ readonly name: number }>();
    const present = new Map<number, { readonly name: number }>();
    let seed = 1;
    for (let name = 0; name < 2_000; name++) {
      seed = (seed * 48_271) % 2_147_483_647;
      if (seed % 3 > 0 || present.size === 0) {
        const member = { name };
        const place = roster.add(member);
        assert.ok(!present.has(place), 'a place is given to one member at a time');
        present.set(place, member);
      } else {
        const place = [...present.keys()][seed % present.size] as number;
        roster.remove(place);
        present.delete(place);
        assert.equal(roster.at(place), undefined);
      }
      assert.equal(roster.size, present.size);
    }
    for (const [place, member] of present) assert.equal(roster.at(place), member);
    assert.deepEqual(new Set(roster.members()), new Set(present.values()));
  });

  test('needs no more places than it had members at a time', () => {
    const roster = new Roster<object>();
    for (let round = 0; round < 100; round++) {
      const places = [roster.add({}), roster.add({})];
      assert.deepEqual(new Set(places), new Set([0, 1]));
      for (const place of places) roster.remove(place);
    }
  });
});
