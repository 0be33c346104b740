/** Chooses the models that a client is configured with, from those that its key may call. Pure. */
import type { DialectName } from '../../core/dialects.ts';
import type { Nanos } from '../../core/money.ts';

/** A model that a key may call. */
export interface Offer {
  /** Or an alias. */
  readonly id: string;
  readonly provider: string;
  /** What its clients can speak. */
  readonly dialects: readonly string[];
  /** What its host speaks, as far as that is known: for other dialects the gateway translates. */
  readonly native: readonly string[];
  /** Nanodollars per million tokens of output. */
  readonly output: Nanos;
  readonly contextWindow: number | undefined;
  readonly maxOutput: number | undefined;
  /** Whether this is another name of a model. Those are only taken if they are asked for. */
  readonly isAlias: boolean;
}

export interface ModelChoice {
  readonly main: Offer;
  /** For titles, summaries and the like. */
  readonly small: Offer;
}

/**
 * The price of output tells what a model can do better than anything else that a config says. Up to this, in nanodollars per million
 * tokens, dearer is taken for better: beyond it stand the models whose few answers would spend a small budget.
 */
const MOST_OUTPUT_PRICE: Nanos = 15_000_000_000n;
/** A model for small tasks may cost this much less: what costs less still may make embeddings, or have no tools. */
const SMALL_SHARE = 10n;

/** How a client chooses. */
export interface Chooser {
  readonly dialect: DialectName;
  /** Names of models, without their provider, that the client knows: the preferred one first. */
  readonly knownModels?: readonly string[];
}

/** Undefined if the client can call none of them. */
export function chooseModels(
  offers: readonly Offer[],
  { dialect, knownModels = [] }: Chooser,
  named?: string,
): ModelChoice | undefined {
  const callable = offers.filter(({ dialects }) => dialects.includes(dialect));
  const asked = named === undefined ? undefined : callable.find(({ id }) => id === named);
  if (named !== undefined && asked === undefined) return undefined;
  const models = callable.filter(({ isAlias }) => !isAlias);
  const spoken = models.filter(({ native }) => native.includes(dialect));
  // A host of the client's own dialect is told everything. What costs nothing may be the mock.
  const known = knownModels.flatMap((name) => spoken.find(({ id }) => nameIn(id) === name) ?? []);
  const main = asked ?? known[0] ?? bestOf(spoken.filter(isPaid)) ?? bestOf(models.filter(isPaid)) ?? bestOf(models);
  return main && { main, small: asked ?? smallBeside(main, models) };
}

/** The name of a model without its provider. */
export function nameIn(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1);
}

function isPaid({ output }: Offer): boolean {
  return output > 0n;
}

function bestOf(offers: readonly Offer[]): Offer | undefined {
  const within = offers.filter(({ output }) => output <= MOST_OUTPUT_PRICE);
  if (within.length === 0) return cheapest(offers);
  return within.reduce<Offer | undefined>(
    (best, each) => (best && best.output >= each.output ? best : each),
    undefined,
  );
}

function smallBeside(main: Offer, models: readonly Offer[]): Offer {
  const beside = models.filter(
    ({ provider, output }) => provider === main.provider && output * SMALL_SHARE >= main.output,
  );
  return cheapest(beside) ?? main;
}

function cheapest(offers: readonly Offer[]): Offer | undefined {
  return offers.reduce<Offer | undefined>(
    (least, each) => (least && least.output <= each.output ? least : each),
    undefined,
  );
}
