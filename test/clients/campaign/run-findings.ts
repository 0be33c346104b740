/** The results of agents under `inf-gw run`: docs/clients.md has a table of them. */

export const SCENARIOS = [
  'own dialect',
  'translated',
  'wrong key',
  'key refused later',
  'full context',
  'spent budget',
] as const;
export type Scenario = (typeof SCENARIOS)[number];

export interface RunFound extends Readonly<Record<Scenario, string>> {
  readonly client: string;
  readonly version: string;
}

const TITLES: Readonly<Record<Scenario, string>> = {
  'own dialect': 'edits a file, own dialect',
  translated: 'edits a file, translated',
  'wrong key': 'wrong provider key',
  'key refused later': 'key refused after the start',
  'full context': 'full context',
  'spent budget': 'spent budget',
};

/** The findings as the rows of a table. */
export function runTable(found: readonly RunFound[]): string[] {
  return [
    `| client | version | ${SCENARIOS.map((scenario) => TITLES[scenario]).join(' | ')} |`,
    `|---|---|${SCENARIOS.map(() => '---|').join('')}`,
    ...found.map((each) => `| ${each.client} | ${each.version} | ${SCENARIOS.map((name) => each[name]).join(' | ')} |`),
  ];
}
