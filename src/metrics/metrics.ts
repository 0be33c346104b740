/** The table of all metrics: name, type, labels and help. The page, the docs and the dashboard are checked against it. */
import { type Bounds, DISK_BOUNDS, REQUEST_BOUNDS } from '../core/durations.ts';

export interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  /** Histogram bounds in milliseconds. */
  readonly bounds?: Bounds;
  /** One sentence. */
  readonly help: string;
  /** Further notes in Markdown sentences. */
  readonly note?: string;
}

/** In page order. */
export const METRICS = {
  buildInfo: {
    name: 'inf_gw_build_info',
    type: 'gauge',
    labels: ['version', 'node_version'],
    help: 'Always 1; the labels say which version of inf-gw and of Node this is.',
  },
  threads: {
    name: 'inf_gw_threads',
    type: 'gauge',
    labels: [],
    help: 'Threads that serve HTTP, over which all figures are summed.',
  },
  requests: {
    name: 'inf_gw_requests_total',
    type: 'counter',
    labels: ['model', 'outcome'],
    help: 'Admitted requests that have ended.',
    note: '`model` is the one that served, which may be a fallback. `outcome` is `ok`, `cancelled` (the client hung up) or the error code that the client got.',
  },
  tokens: {
    name: 'inf_gw_tokens_total',
    type: 'counter',
    labels: ['model', 'kind'],
    help: 'Tokens of ended requests, each of one kind.',
    note: '`kind` is `input`, `cached_input` (read from the provider’s cache), `cache_write` or `output` (reasoning included).',
  },
  cost: {
    name: 'inf_gw_cost_usd_total',
    type: 'counter',
    labels: ['model', 'outcome'],
    help: 'Charges of ended requests, in USD.',
  },
  cacheHits: {
    name: 'inf_gw_cache_hits_total',
    type: 'counter',
    labels: ['model'],
    help: 'Requests that were answered from the cache of answers.',
    note: 'They are among the requests, with outcome `ok`, and cost nothing.',
  },
  cacheSaved: {
    name: 'inf_gw_cache_saved_usd_total',
    type: 'counter',
    labels: ['model'],
    help: 'Original cost of the answers from the cache, in USD.',
  },
  refusals: {
    name: 'inf_gw_refusals_total',
    type: 'counter',
    labels: ['code', 'reason', 'level'],
    help: 'Requests that were refused, and took nothing.',
    note: '`code` is the error code. `reason` is the limit behind `rate_limited`: `requests_per_minute`, `tokens_per_minute`, `concurrency`, `larger_than_token_limit`, `money_spoken_for` and so on. Elsewhere it is the code. `level` is `group`, `user` or `key` where the limit or the state is that of a group, of an end user or of the key around a child; empty for the key itself and for the account. End users have no label.',
  },
  overload: {
    name: 'inf_gw_overload_refusals_total',
    type: 'counter',
    labels: ['cause'],
    help: 'Requests and connections turned away before any work, to protect the gateway.',
    note: '`cause` is `connections` (max_connections), `loop_delay` or `memory`. Counted every two seconds.',
  },
  responses: {
    name: 'inf_gw_responses_total',
    type: 'counter',
    labels: ['status'],
    help: 'Answers to requests under /v1, refusals included.',
    note: '`status` is that of HTTP, or 499 where the client hung up before its answer was complete.',
  },
  firstByte: {
    name: 'inf_gw_first_byte_seconds',
    type: 'histogram',
    labels: ['model'],
    bounds: REQUEST_BOUNDS,
    help: 'From the dispatch of a request to the first byte of the answer from its provider.',
  },
  duration: {
    name: 'inf_gw_request_duration_seconds',
    type: 'histogram',
    labels: ['model'],
    bounds: REQUEST_BOUNDS,
    help: 'From the admission of a request to its settlement, just before its last bytes go out.',
  },
  inFlight: {
    name: 'inf_gw_requests_in_flight',
    type: 'gauge',
    labels: [],
    help: 'HTTP requests being answered, those not yet admitted included.',
  },
  slots: {
    name: 'inf_gw_slots_in_use',
    type: 'gauge',
    labels: [],
    help: 'Admitted requests that are not settled yet: each holds a slot of its key.',
  },
  slotsLimit: {
    name: 'inf_gw_slots_per_key_limit',
    type: 'gauge',
    labels: [],
    help: 'Slots of a key that has no limit of its own: the concurrency of the tier.',
  },
  balance: {
    name: 'inf_gw_balance_usd',
    type: 'gauge',
    labels: [],
    help: 'Balance of the account, in USD; open holds are not subtracted.',
    note: 'Absent while the ledger does not answer. Of all gateways that share a database.',
  },
  held: {
    name: 'inf_gw_held_usd',
    type: 'gauge',
    labels: [],
    help: 'Money held for requests in flight, in USD.',
    note: 'Absent while the ledger does not answer. Of all gateways that share a database.',
  },
  loopDelay: {
    name: 'inf_gw_event_loop_delay_seconds',
    type: 'gauge',
    labels: ['statistic'],
    help: 'Delay of the event loop over the last five to ten seconds, in the slowest thread.',
    note: '`statistic` is `p50`, `p99` or `max`.',
  },
  ledgerBatch: {
    name: 'inf_gw_ledger_batch_seconds',
    type: 'histogram',
    labels: [],
    bounds: DISK_BOUNDS,
    help: 'Time for the ledger to decide a batch of commands and commit it.',
  },
  ledgerSync: {
    name: 'inf_gw_ledger_sync_seconds',
    type: 'histogram',
    labels: [],
    bounds: DISK_BOUNDS,
    help: 'Time to flush what the ledger has committed to the disk.',
    note: 'Stays at zero with `durability: crash`.',
  },
  ledgerDifferences: {
    name: 'inf_gw_ledger_differences_total',
    type: 'counter',
    labels: [],
    help: 'How often the state of this gateway has diverged from the other gateways on its database and was rebuilt, or the log had an invalid entry.',
    note: 'Anything but zero is a bug: run `inf-gw audit`, and report it. Absent where the state is a file.',
  },
  storageFault: {
    name: 'inf_gw_storage_fault',
    type: 'gauge',
    labels: [],
    help: '1 while the state cannot be written, so that nothing is admitted; otherwise 0.',
  },
  draining: {
    name: 'inf_gw_draining',
    type: 'gauge',
    labels: [],
    help: '1 while the gateway shuts down; otherwise 0.',
  },
  stateSize: {
    name: 'inf_gw_state_size_bytes',
    type: 'gauge',
    labels: ['file'],
    help: 'Size of the state file, and of the write-ahead log beside it.',
    note: '`file` is `state` or `log`. Absent where the state is a database.',
  },
  attempts: {
    name: 'inf_gw_upstream_attempts_total',
    type: 'counter',
    labels: ['upstream', 'result'],
    help: 'Attempts at an upstream.',
    note: '`upstream` is the name of the provider, with `#1`, `#2` and so on where it has several. `result` is `ok`, or `failed` if the upstream is to blame.',
  },
  upstreamInFlight: {
    name: 'inf_gw_upstream_requests_in_flight',
    type: 'gauge',
    labels: ['provider', 'upstream'],
    help: 'Requests in flight at an upstream.',
  },
  upstreamState: {
    name: 'inf_gw_upstream_state',
    type: 'gauge',
    labels: ['provider', 'upstream', 'state'],
    help: '1 for the state of the circuit breaker of an upstream, 0 for its other states.',
    note: '`state` is `closed` (healthy), `half_open`, `open`, or `backing_off` (it sent a `Retry-After`). Each thread has circuit breakers of its own; this is the worst.',
  },
  keyRequests: {
    name: 'inf_gw_key_requests_total',
    type: 'counter',
    labels: ['key_id'],
    help: 'Admitted requests of a key that have ended.',
  },
  keyTokens: {
    name: 'inf_gw_key_tokens_total',
    type: 'counter',
    labels: ['key_id'],
    help: 'Tokens of ended requests of a key.',
  },
  keyCost: {
    name: 'inf_gw_key_cost_usd_total',
    type: 'counter',
    labels: ['key_id'],
    help: 'Charges of a key, in USD.',
  },
  keyRefusals: {
    name: 'inf_gw_key_refusals_total',
    type: 'counter',
    labels: ['key_id'],
    help: 'Refused requests of a key.',
  },
  keySlots: {
    name: 'inf_gw_key_slots_in_use',
    type: 'gauge',
    labels: ['key_id'],
    help: 'Slots of a key that are in use.',
    note: 'Of the keys that have a label of their own.',
  },
  groupRequests: {
    name: 'inf_gw_group_requests_total',
    type: 'counter',
    labels: ['group'],
    help: 'Admitted requests of the keys in a group that have ended.',
    note: 'A request counts for each group around its key.',
  },
  groupTokens: {
    name: 'inf_gw_group_tokens_total',
    type: 'counter',
    labels: ['group'],
    help: 'Tokens of ended requests of the keys in a group.',
  },
  groupCost: {
    name: 'inf_gw_group_cost_usd_total',
    type: 'counter',
    labels: ['group'],
    help: 'Charges of the keys in a group, in USD.',
  },
  groupRefusals: {
    name: 'inf_gw_group_refusals_total',
    type: 'counter',
    labels: ['group'],
    help: 'Requests refused by a limit or the state of a group.',
  },
  processCpu: {
    name: 'process_cpu_seconds_total',
    type: 'counter',
    labels: [],
    help: 'CPU time of the process, user and system, all threads.',
  },
  processMemory: {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    labels: [],
    help: 'Resident memory of the process.',
  },
  processStart: {
    name: 'process_start_time_seconds',
    type: 'gauge',
    labels: [],
    help: 'When the process began, in seconds since 1970.',
  },
  openFiles: {
    name: 'process_open_fds',
    type: 'gauge',
    labels: [],
    help: 'Open file descriptors of the process.',
    note: 'Linux only.',
  },
  maxFiles: {
    name: 'process_max_fds',
    type: 'gauge',
    labels: [],
    help: 'The most file descriptors that the process can have open.',
    note: 'Linux only.',
  },
} as const satisfies Readonly<Record<string, Metric>>;

export type MetricKey = keyof typeof METRICS;
