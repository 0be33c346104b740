/** Samples of metrics, summed by labels and printed in Prometheus' text format. */
import type { Bounds, DurationCounts } from '../core/durations.ts';
import { METRICS, type MetricKey } from './metrics.ts';

type Labels = Readonly<Record<string, string>>;

const MS_PER_S = 1000;

type LabelsOf<K extends MetricKey> = Readonly<Record<(typeof METRICS)[K]['labels'][number], string>>;

type HistogramKey = { [K in MetricKey]: (typeof METRICS)[K]['type'] extends 'histogram' ? K : never }[MetricKey];

/** Values by printed name and labels. */
type Samples = Map<string, number>;

export class Families {
  readonly #samples = new Map<MetricKey, Samples>((Object.keys(METRICS) as MetricKey[]).map((key) => [key, new Map()]));

  /** Adds to the sample with these labels. */
  add<K extends Exclude<MetricKey, HistogramKey>>(key: K, labels: LabelsOf<K>, value: number): void {
    this.#add(key, METRICS[key].name, labels, value);
  }

  addHistogram<K extends HistogramKey>(key: K, labels: LabelsOf<K>, counts: DurationCounts): void {
    const { name, bounds }: { name: string; bounds: Bounds } = METRICS[key];
    let seen = 0;
    const upTo = (le: string, bucket: number) => {
      seen += counts[bucket] ?? 0;
      this.#add(key, `${name}_bucket`, { ...labels, le }, seen);
    };
    for (const [bucket, bound] of bounds.entries()) upTo(String(bound / MS_PER_S), bucket);
    upTo('+Inf', bounds.length);
    this.#add(key, `${name}_sum`, labels, (counts[bounds.length + 1] ?? 0) / MS_PER_S);
    this.#add(key, `${name}_count`, labels, seen);
  }

  /** Prints all metrics in table order, including metrics without samples. */
  print(): string {
    const texts = [...this.#samples].map(([key, samples]) => {
      const { name, help, type } = METRICS[key];
      const lines = [...samples].map(([sample, value]) => `${sample} ${valueText(value)}`);
      return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join('\n');
    });
    return `${texts.join('\n\n')}\n`;
  }

  #add(key: MetricKey, name: string, labels: Labels, value: number): void {
    const samples = this.#samples.get(key) as Samples;
    const shown = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
    const sample = shown.length === 0 ? name : `${name}{${shown.join(',')}}`;
    samples.set(sample, (samples.get(sample) ?? 0) + value);
  }
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

function valueText(value: number): string {
  return value === Number.POSITIVE_INFINITY ? '+Inf' : String(value);
}
