/** Chooses the models to configure a client with, among the models that its key may call. Pure. */
import type { DialectName } from '../../core/dialects.ts';
import type { Nanos } from '../../core/money.ts';

/** A model that a key may call. */
export interface Offer {
  /** A model id or an alias. */
  readonly id: string;
  readonly provider: string;
  /** The dialects that its clients may speak. */
  readonly dialects: readonly string[];
  /** The dialects of its host, if they are known. The gateway translates other dialects. */
  readonly native: readonly string[];
  /** Nanodollars per million tokens of output. */
  readonly output: Nanos;
  readonly contextWindow: number | undefined;
  readonly maxOutput: number | undefined;
  /** Whether this is an alias. Aliases are used only on request. */
  readonly isAlias: boolean;
}

export interface ModelChoice {
  readonly main: Offer;
  /** The model for titles, summaries and similar small tasks. */
  readonly small: Offer;
}

/**
 * The price of output is the best indication of a model's ability in a config. Up to this price, in nanodollars per million
 * tokens, the more expensive model is preferred; a few responses of models above it would spend a small budget.
 */
const MOST_OUTPUT_PRICE: Nanos = 15_000_000_000n;
/** The factor by which a model for small tasks may be cheaper: cheaper ones may produce embeddings, or lack tools. */
const SMALL_SHARE = 10n;

/** The preferences of a client. */
export interface Chooser {
  readonly dialect: DialectName;
  /** Model names without provider that the client knows, in order of preference. */
  readonly knownModels?: readonly string[];
}

/** Undefined if the client can call none of the models. */
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
  // Prefer hosts of the client's own dialect, where no field is lost in translation. A model without a price may be the
  // mock.
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
