/** Samples of metrics, in the form in which prom-client adds up and prints those of several processes. */
import type { Bounds, DurationCounts } from '../core/durations.ts';
import { METRICS, type Metric, type MetricKey } from './metrics.ts';

type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly labels: Labels;
  readonly value: number;
  /** Of a histogram: the part that it belongs to. */
  readonly metricName?: string;
}

/** A metric with its samples, as prom-client's `getMetricsAsJSON` has it. */
interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: Metric['type'];
  readonly aggregator: 'sum';
  readonly values: Sample[];
}

const MS_PER_S = 1000;

type LabelsOf<K extends MetricKey> = Readonly<Record<(typeof METRICS)[K]['labels'][number], string>>;

type HistogramKey = { [K in MetricKey]: (typeof METRICS)[K]['type'] extends 'histogram' ? K : never }[MetricKey];

export class Families {
  readonly #families = new Map<MetricKey, Family>();

  /** All metrics, those without samples as well, in the order of the table. */
  all(): readonly Family[] {
    return (Object.keys(METRICS) as MetricKey[]).map((key) => this.#family(key));
  }

  add<K extends Exclude<MetricKey, HistogramKey>>(key: K, labels: LabelsOf<K>, value: number): void {
    this.#family(key).values.push({ labels, value });
  }

  addHistogram<K extends HistogramKey>(key: K, labels: LabelsOf<K>, counts: DurationCounts): void {
    const { name, bounds }: { name: string; bounds: Bounds } = METRICS[key];
    const { values } = this.#family(key);
    let seen = 0;
    const upTo = (le: string, bucket: number) => {
      seen += counts[bucket] ?? 0;
      values.push({ metricName: `${name}_bucket`, labels: { ...labels, le }, value: seen });
    };
    for (const [bucket, bound] of bounds.entries()) upTo(String(bound / MS_PER_S), bucket);
    upTo('+Inf', bounds.length);
    values.push({ metricName: `${name}_sum`, labels, value: (counts[bounds.length + 1] ?? 0) / MS_PER_S });
    values.push({ metricName: `${name}_count`, labels, value: seen });
  }

  #family(key: MetricKey): Family {
    const known = this.#families.get(key);
    if (known !== undefined) return known;
    const { name, help, type } = METRICS[key];
    const family: Family = { name, help, type, aggregator: 'sum', values: [] };
    this.#families.set(key, family);
    return family;
  }
}
