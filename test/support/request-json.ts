/** A request as `requests` prints it with `--json`. */

export interface RequestJson {
  readonly id: string;
  readonly completion_id: string | null;
  readonly key: string;
  readonly key_id: string;
  readonly model: string;
  readonly user: string | null;
  readonly tag: string | null;
  readonly app: string | null;
  readonly state: 'in_flight' | 'ended';
  readonly outcome: string | null;
  readonly source: 'reported' | 'counted' | 'held' | null;
  readonly admitted_at: string;
  readonly settled_at: string | null;
  readonly first_byte_ms: number | null;
  readonly duration_ms: number | null;
  readonly prompt_tokens: number | null;
  readonly cached_tokens: number | null;
  readonly completion_tokens: number | null;
  readonly total_tokens: number | null;
  readonly cost_usd: string | null;
  readonly held_usd: string;
  readonly price: {
    readonly input_usd: string;
    readonly cached_input_usd: string;
    readonly output_usd: string;
    readonly extras_usd: Readonly<Record<string, string>>;
    readonly service_tier: string | null;
    readonly above_tokens: number | null;
    readonly price_file: string | null;
  } | null;
  readonly failure: { readonly reason: string; readonly status: number | null; readonly message: string } | null;
  readonly corrected_at: string | null;
}
