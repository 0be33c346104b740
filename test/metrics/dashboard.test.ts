/** The dashboard for Grafana and the alerts of the docs ask for metrics that exist, by labels that they have. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { METRICS, type Metric } from '../../src/metrics/metrics.ts';
import { projectFile } from '../support/sources.ts';

interface Target {
  readonly expr: string;
  readonly legendFormat: string;
}

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly Target[] }[];
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
  readonly templating: { readonly list: readonly { readonly definition?: string }[] };
}

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly expr: string }[] }[];
}

const dashboard = JSON.parse(projectFile('deploy/grafana-dashboard.json')) as Dashboard;
const targets = dashboard.panels.flatMap((panel) => panel.targets ?? []);

function alerts(): string[] {
  const [, yaml = ''] = /^## Alerts.*?```yaml\n(.*?)```/ms.exec(projectFile('docs/metrics.md')) ?? [];
  return (parse(yaml) as Rules).groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
}

/** The names by which each metric can be asked for, and its labels; Prometheus adds those of where it comes from. */
const KNOWN = new Map<string, readonly string[]>(
  (Object.values(METRICS) as Metric[]).flatMap(({ name, type, labels }) => {
    const own = ['instance', 'job', ...labels, ...(type === 'histogram' ? ['le'] : [])];
    const parts = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    return parts.map((part) => [name + part, own] as const);
  }),
);

/** What is wrong with a query. */
function problemsOf(query: string): string[] {
  const plain = query.replace(/"[^"]*"/g, '""');
  const names = plain.match(/\b(?:inf_gw|process|nodejs)_\w+/g) ?? [];
  const labels = [...plain.matchAll(/(\w+)(?:=~|!~|!=|=)""/g)].map(([, label = '']) => label);
  const grouped = [...plain.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/));
  const known = names.flatMap((name) => KNOWN.get(name) ?? []);
  return [
    ...(names.length === 0 ? ['it names no metric'] : []),
    ...names.filter((name) => !KNOWN.has(name)),
    ...[...labels, ...grouped].filter((label) => !known.includes(label)),
  ];
}

describe('every query', () => {
  test('of a metric or a label that does not exist is found', () => {
    assert.deepEqual(problemsOf('sum by (modell) (rate(inf_gw_requests_totals{stat="x"}[1m]))'), [
      'inf_gw_requests_totals',
      'stat',
      'modell',
    ]);
    assert.deepEqual(problemsOf('inf_gw_first_byte_seconds'), ['inf_gw_first_byte_seconds']);
    assert.deepEqual(problemsOf('vector(1)'), ['it names no metric']);
    assert.deepEqual(problemsOf('sum by (le) (inf_gw_first_byte_seconds_bucket{model=~"a|b"})'), []);
  });

  test('of the dashboard asks for metrics that exist, by labels that they have', () => {
    assert.ok(targets.length > 20);
    const queries = [...targets.map(({ expr }) => expr), ...dashboard.annotations.list.map(({ expr }) => expr)];
    assert.deepEqual(queries.flatMap(problemsOf), []);
    const [definition = ''] = dashboard.templating.list.flatMap((each) => each.definition ?? []);
    assert.deepEqual(problemsOf(definition.replace(/label_values\((\w+), (\w+)\)/, 'sum by ($2) ($1)')), []);
  });

  test('of the alerts in the docs does, too', () => {
    assert.equal(alerts().length, 4);
    assert.deepEqual(alerts().flatMap(problemsOf), []);
  });
});

test('each line of a legend is a label that its query leaves', () => {
  for (const { expr, legendFormat } of targets) {
    const [, list = ''] = /\bby \(([^)]*)\)/.exec(expr) ?? [];
    for (const [, label = ''] of legendFormat.matchAll(/{{(\w+)}}/g)) {
      const isLeft = list.split(/,\s*/).includes(label) || !/\bby\b|\b(?:min|max|sum)\(/.test(expr);
      assert.ok(isLeft, `${label} in ${expr}`);
    }
  }
});

test('the panels have names of their own', () => {
  const titles = dashboard.panels.map(({ title }) => title);
  assert.equal(new Set(titles).size, titles.length);
});
