/** Extracts the valid parts of an invalid config, so that one run checks them further and reports all problems. */
import type * as z from 'zod';
import { isObject, objectOf } from '../core/json.ts';
import { providerName } from './price-schema.ts';
import { configSchema, KINDS, meantKind, type ParsedConfig, providerSchema } from './schema.ts';

/** The config with defaults in place of every invalid part. */
export function validParts(raw: unknown): ParsedConfig {
  const fields = objectOf(raw);
  const valid: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(configSchema.shape)) {
    if (schema.safeParse(fields[name]).success) valid[name] = fields[name];
  }
  valid.tiers = isObject(fields.tiers) ? validEntries(fields.tiers, (tiers) => ({ tiers }), {}) : undefined;
  const providers = objectOf(fields.providers);
  valid.providers = Object.assign(
    {},
    ...Object.entries(providers).map(([name, provider]) =>
      validEntries({ [name]: provider }, (entry) => ({ providers: entry }), checkableParts(provider)),
    ),
  );
  return configSchema.parse(valid);
}

/** Each valid entry, or its substitute. An entry with an invalid name is omitted. */
function validEntries(
  entries: Record<string, unknown>,
  wrap: (entry: Record<string, unknown>) => unknown,
  substitute: unknown,
): Record<string, unknown> {
  const candidates = Object.entries(entries).flatMap(([name, value]) => [{ [name]: substitute }, { [name]: value }]);
  return Object.assign({}, ...candidates.filter((candidate) => configSchema.safeParse(wrap(candidate)).success));
}

/** The problems of a provider other than its name and its `kind`, which determines its fields. */
export function hiddenIssues(raw: unknown): z.core.$ZodIssue[] {
  const providers = objectOf(objectOf(raw).providers);
  return Object.entries(providers).flatMap(([name, provider]) => {
    const isHidden = !providerName.safeParse(name).success;
    const isMeant = isObject(provider) && !isKind(provider.kind);
    const readings = [
      ...(isHidden ? [provider] : []),
      ...(isMeant ? [{ ...provider, kind: meantKind(String(provider.kind)) ?? 'openai' }] : []),
    ];
    return readings
      .flatMap((reading) => providerSchema.safeParse(reading).error?.issues ?? [])
      .map((issue) => ({ ...issue, path: ['providers', name, ...issue.path] }));
  });
}

function isKind(kind: unknown): boolean {
  return KINDS.some((each) => each === kind);
}

/** A valid provider with the parts of an invalid one that can be checked further: addresses, keys, headers, models. */
function checkableParts(raw: unknown): unknown {
  const address = { base_url: 'http://placeholder' };
  const isList = isObject(raw) && raw.upstreams !== undefined;
  const placeholder = { kind: 'openai', models: {}, ...(isList ? { upstreams: [address] } : address) };
  if (!isObject(raw) || (raw.kind !== 'openai' && isKind(raw.kind))) return placeholder;
  const names = [...(isList ? ['upstreams'] : ['base_url', 'api_key']), 'headers', 'models'];
  // The required fields of an unknown kind are unknown.
  const told = names.filter((name) => raw.kind === 'openai' || raw[name] !== undefined);
  const fields = told.map((name) => ({ [name]: raw[name] }));
  const isValid = (field: object) => providerSchema.safeParse({ ...placeholder, ...field }).success;
  return Object.assign(placeholder, ...fields.filter(isValid));
}
