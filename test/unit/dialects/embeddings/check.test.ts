/** The service tier of an embeddings request, which can have a price of its own. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EMBEDDINGS } from '../../../../src/dialects/embeddings/embeddings.ts';
import { readJsonBody } from '../../../../src/wire/body.ts';

function checked(fields: object) {
  const read = readJsonBody(Buffer.from(JSON.stringify({ model: 'a/b', input: 'x', ...fields })));
  assert.ok(read.ok);
  return EMBEDDINGS.check(read.body, 'a/b');
}

const TIERS: readonly (readonly [fields: object, tier: string | undefined])[] = [
  [{}, undefined],
  [{ service_tier: null }, undefined],
  [{ service_tier: 'priority' }, 'priority'],
];

describe('the service tier of an embeddings request', () => {
  for (const [fields, tier] of TIERS) {
    test(JSON.stringify(fields), () => {
      const result = checked(fields);
      assert.ok(result.ok);
      assert.equal(result.request.serviceTier, tier);
    });
  }
  for (const fields of [{ service_tier: 1 }, { Service_Tier: 'priority' }]) {
    test(`refused: ${JSON.stringify(fields)}`, () => assert.equal(checked(fields).ok, false));
  }
});
