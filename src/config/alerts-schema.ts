/** The shape of `alerts` in the config file, for zod. */
import * as z from 'zod';

/** The most webhooks: each has a separate line in the outbox. */
const MAX_WEBHOOKS = 16;

const text = z.string({ error: () => 'expected a string' }).min(1, 'expected a non-empty string');

const webhook = z.strictObject(
  {
    url: text,
    secret: text.optional(),
    format: z.enum(['json', 'slack'], { error: () => 'expected json or slack' }).default('json'),
  },
  { error: (issue) => (issue.code === 'invalid_type' ? 'expected a map with url, secret and format' : undefined) },
);

const COMMAND_EXPECTED = 'expected the path of a program, or a list of it and its arguments';

export const alertsSchema = z.strictObject(
  {
    webhooks: z
      .array(webhook, { error: () => 'expected a list of webhooks, such as - { url: https://… }' })
      .max(MAX_WEBHOOKS, `expected at most ${MAX_WEBHOOKS} webhooks`)
      .default([]),
    command: z
      .union([text.transform((program) => [program]), z.array(text).min(1, COMMAND_EXPECTED)], {
        error: () => COMMAND_EXPECTED,
      })
      .optional(),
  },
  { error: (issue) => (issue.code === 'invalid_type' ? 'expected a map with webhooks and command' : undefined) },
);

export type ParsedAlerts = z.infer<typeof alertsSchema>;
