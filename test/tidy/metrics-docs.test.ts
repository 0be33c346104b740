/** The page on metrics says what the table of metrics says. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { metricsDocs } from '../../scripts/metrics-docs.ts';
import { projectFile } from '../support/sources.ts';

test('docs/metrics.md is what the table of metrics comes to: otherwise run npm run make:metrics-docs', () => {
  assert.equal(projectFile('docs/metrics.md'), metricsDocs());
});
