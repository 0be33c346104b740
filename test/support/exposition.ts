/** A strict reader of Prometheus' text format: throws wherever a page is not exactly as the format says. */
import assert from 'node:assert/strict';

export interface ReadSample {
  /** Of a histogram, with `_bucket`, `_sum` or `_count`. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ReadMetric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: ReadSample[];
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const SAMPLE = /^([^\s{]+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y;
const NUMBER = /^(?:[+-]?Inf|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/;

/** The metrics of a page, by name. */
export function readExposition(page: string): ReadonlyMap<string, ReadMetric> {
  assert.ok(page.endsWith('\n'), 'the last line has no end');
  const metrics = new Map<string, ReadMetric>();
  const seen = new Set<string>();
  let help: [name: string, text: string] | undefined;
  let metric: ReadMetric | undefined;
  for (const line of page.split('\n').filter((each) => each !== '')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (kind === 'HELP') help = [name, rest];
    else if (kind === 'TYPE') {
      assert.equal(help?.[0], name, `no help before ${line}`);
      assert.ok(!metrics.has(name), `${name} comes twice`);
      metric = { name, type: rest, help: help?.[1] ?? '', samples: [] };
      metrics.set(name, metric);
    } else {
      const sample = readSample(line);
      assert.ok(metric !== undefined && belongs(sample.name, metric), `${line} is not below its metric`);
      const identity = JSON.stringify([sample.name, Object.entries(sample.labels).toSorted()]);
      assert.ok(!seen.has(identity), `${line} comes twice`);
      seen.add(identity);
      metric.samples.push(sample);
    }
  }
  for (const each of metrics.values()) checkMetric(each);
  return metrics;
}

function readSample(line: string): ReadSample {
  const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? [];
  assert.match(name, NAME, line);
  assert.match(value, NUMBER, line);
  return { name, labels: readLabels(labels, line), value: Number(value.replace('Inf', 'Infinity')) };
}

function readLabels(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  let end = 0;
  while (end < text.length) {
    const [, name = '', value = '', next] = LABEL.exec(text) ?? [];
    assert.ok(name !== '' && !Object.hasOwn(labels, name), `labels of ${line}`);
    labels[name] = value.replace(/\\(.)/g, (_, character) => (character === 'n' ? '\n' : character));
    end = LABEL.lastIndex;
    assert.ok(next === ',' ? end < text.length : end === text.length, `labels of ${line}`);
  }
  return labels;
}

function belongs(name: string, metric: ReadMetric): boolean {
  if (metric.type !== 'histogram') return name === metric.name;
  return ['_bucket', '_sum', '_count'].some((part) => name === metric.name + part);
}

function checkMetric(metric: ReadMetric): void {
  assert.match(metric.name, NAME);
  assert.match(metric.type, /^(?:counter|gauge|histogram)$/, metric.name);
  assert.equal(
    metric.name.endsWith('_total'),
    metric.type === 'counter',
    `only counters end in _total: ${metric.name}`,
  );
  if (metric.type === 'counter') {
    for (const { value } of metric.samples) assert.ok(Number.isFinite(value) && value >= 0, metric.name);
  }
  if (metric.type === 'histogram') checkHistogram(metric);
}

/** Each series has rising buckets up to +Inf, which is its count, and a sum. */
function checkHistogram({ name, samples }: ReadMetric): void {
  const series = new Map<string, ReadSample[]>();
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels;
    const identity = JSON.stringify(labels);
    series.set(identity, [...(series.get(identity) ?? []), sample]);
  }
  for (const [identity, all] of series) {
    const buckets = all.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => Number(labels.le?.replace('Inf', 'Infinity')));
    assert.ok(isRising(bounds, 1e-9) && bounds.at(-1) === Number.POSITIVE_INFINITY, `bounds of ${name} ${identity}`);
    const counts = buckets.map(({ value }) => value);
    assert.ok(isRising(counts, 0), `buckets of ${name} ${identity}`);
    const [sum, count] = ['_sum', '_count'].map((part) => all.find((sample) => sample.name === name + part));
    assert.ok(sum !== undefined && sum.value >= 0, `sum of ${name} ${identity}`);
    assert.equal(count?.value, counts.at(-1), `count of ${name} ${identity}`);
  }
}

function isRising(numbers: readonly number[], least: number): boolean {
  return numbers.every((number, index) => index === 0 || number - (numbers[index - 1] as number) >= least);
}
