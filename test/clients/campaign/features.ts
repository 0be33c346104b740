/** The features that the campaign tries with every client, and the results: docs/clients.md has a table of them. */

export const FEATURES = ['plain', 'stream', 'tools', 'two turns', 'structured output', 'errors', 'translated'] as const;
export type Feature = (typeof FEATURES)[number];

/** `yes`, or why not. */
export type Findings = Readonly<Record<Feature, string>>;

export interface Found extends Findings {
  readonly client: string;
  readonly version: string;
}

export const YES = 'yes';

/** The findings as the rows of a table. */
export function featureTable(found: readonly Found[]): string[] {
  return [
    `| client | version | ${FEATURES.join(' | ')} |`,
    `|---|---|${FEATURES.map(() => '---|').join('')}`,
    ...found.map(
      (each) => `| ${each.client} | ${each.version} | ${FEATURES.map((feature) => each[feature]).join(' | ')} |`,
    ),
  ];
}
