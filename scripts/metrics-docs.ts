/** Prints the table of metrics as a page for readers: `npm run make:metrics-docs`. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { METRICS, type Metric, type MetricKey } from '../src/metrics/metrics.ts';
import { wrapProse } from './wrap.ts';

/** The parts of the page, and the first metric of each. */
const GROUPS: Readonly<Partial<Record<MetricKey, string>>> = {
  buildInfo: 'The gateway',
  requests: 'Requests, tokens and cost',
  inFlight: 'In flight, and the account',
  loopDelay: 'Threads, ledger and state',
  attempts: 'Upstreams',
  keyRequests: 'Keys',
  groupRequests: 'Groups',
  processCpu: 'The process',
};

/** What belongs above the table of a group. */
const ABOVE: Readonly<Partial<Record<MetricKey, string>>> = {
  keyRequests: 'Only with `key_labels`. `key_id` is what `inf-gw keys list --json` shows as `id`, or `other`.',
  groupRequests: 'Only with `key_labels`. `group` is `@` and its name, or `other`.',
};

function row({ name, type, labels, help, note }: Metric): string {
  const meaning = [help, note].filter((text) => text !== undefined).join(' ');
  return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${meaning} |`;
}

function tables(): string {
  const lines: string[] = [];
  for (const [key, metric] of Object.entries(METRICS) as [MetricKey, Metric][]) {
    const title = GROUPS[key];
    const above = ABOVE[key];
    if (title !== undefined) {
      lines.push('', `### ${title}`, '');
      if (above !== undefined) lines.push(above, '');
      lines.push('| metric | type | labels | meaning |', '|---|---|---|---|');
    }
    lines.push(row(metric));
  }
  return lines.join('\n').trim();
}

/** The page, as docs/ holds it. */
export function metricsDocs(): string {
  return wrapProse(`<!-- Printed by npm run make:metrics-docs from src/metrics/metrics.ts: change it there. -->

# Metrics

The gateway shows its figures to Prometheus on an address of its own, once the config names one:

\`\`\`yaml
metrics: 127.0.0.1:9464
\`\`\`

Without that line nothing is counted, and the code for it is not loaded. The address answers \`GET /metrics\` in Prometheus' text format, and 404 everywhere else, over 32 connections at most. It asks for no key and it is plain HTTP: who can reach it can read what is spent on which model, so bind it to the loopback address or to a network of your own. Neither keys nor prompts are on the page. A gateway that cannot listen there does not start; \`inf-gw doctor\` checks the address. To change it, restart the gateway: a reload refuses the change.

Tell Prometheus where it is:

\`\`\`yaml
scrape_configs:
  - job_name: inf-gw
    static_configs:
      - targets: [127.0.0.1:9464]
\`\`\`

[deploy/grafana-dashboard.json](../deploy/grafana-dashboard.json) is a dashboard for Grafana: import it, and choose your Prometheus.

## Who may read them

Whoever reaches the address. At one of this machine alone, such as 127.0.0.1, the metrics answer to its IP addresses and to \`localhost\`, so that no web page in a browser here can read them under a name of its own. Where your Prometheus or a proxy asks for them by another name, list it: \`hosts: [gateway.internal]\`.

## Keys and groups

Figures of single keys and groups are off, since each is a series more in every metric of theirs. \`key_labels\` says how many keys, and how many groups, may have series of their own:

\`\`\`yaml
metrics: { listen: 127.0.0.1:9464, key_labels: 100 }
\`\`\`

The first keys that send requests get them, and the first groups; all others are summed as \`key_id="other"\` and \`group="other"\`. Who has a label keeps it until the gateway ends. A request counts for each group around its key, so groups overlap. [End users](levels.md) never have labels, since their number has no bound: \`inf-gw usage --by user\` has their figures, and \`level="user"\` counts the requests that their limits refuse.

## What to know about the figures

- **Money.** The ledger counts in whole nanodollars, and decides by them alone. Prometheus has floating-point numbers only, so \`…_usd\` figures are those amounts in USD, as the nearest such number: exact to the nanodollar up to nine million USD, and to sixteen digits beyond. Use them for charts and alerts. To bill by, use \`inf-gw usage\` or \`inf-gw requests\`, which are exact.
- **Counters** begin at zero with the process. \`rate()\` and \`increase()\` see to that. A gateway that takes over with \`serve --takeover\` counts on where the earlier one has ended, if both have metrics, and what still ends there is added.
- **Several threads** serve one page: counters, histograms and requests in flight are sums over all of them, the event loop's delay and the state of an upstream the worst.
- **Several gateways** on one database each have a page of their own. Add up their counters. The balance and what is held are the account's, the same on every page: take \`max()\`, not \`sum()\`.
- **Models** are those of the config. After a thousand of them, over all reloads, the rest are \`model="other"\`.
- **A request** is in a counter once it is settled. One that is charged as held, after a crash, is in the journal and in no metric.

## All metrics

${tables()}

## Alerts to begin with

\`\`\`yaml
groups:
  - name: inf-gw
    rules:
      - alert: GatewayCannotWrite
        expr: inf_gw_storage_fault == 1
        for: 1m
      - alert: UpstreamDown
        expr: inf_gw_upstream_state{state="open"} == 1
        for: 2m
      - alert: CreditRunsOut
        expr: max(inf_gw_balance_usd) < 24 * sum(increase(inf_gw_cost_usd_total[1h]))
      - alert: ErrorsOfProviders
        expr: |
          sum(rate(inf_gw_requests_total{outcome="upstream_error"}[5m]))
            > 0.05 * sum(rate(inf_gw_requests_total[5m]))
        for: 5m
\`\`\`

## Checking the page

The tests read the page with a strict parser. To check it with Prometheus' own tool, which is in Debian's package \`prometheus\`:

\`\`\`sh
curl -s 127.0.0.1:9464/metrics | promtool check metrics
\`\`\`

## What they cost

Without \`metrics\` in the config: nothing. With it, counting takes 0.25 µs for each request, and 0.6 µs for each batch and each flush of the ledger, measured in a loop (Node 26): with one connection, where each request has batches of its own, 2 µs of the 900 that a request takes on the machine of the [benchmarks](benchmarks.md), and less with more connections. The benchmark itself cannot see it: in 40 pairs of rounds of 4,000 requests with 64 connections, in turn on the same machine, a request with metrics took 0.96 times the CPU of one without at the median, and in half of the pairs between 0.89 and 1.02 times: that is the noise of a busy machine.

A page of 50 models, 100 keys and four threads has 150 kB and takes 40 ms of CPU. With several threads, the one that prints it serves no requests; with one, requests wait meanwhile, so leave \`scrape_interval\` at 15 s or more.
`);
}

if (import.meta.main) {
  writeFileSync(fileURLToPath(new URL('../docs/metrics.md', import.meta.url)), metricsDocs());
}
