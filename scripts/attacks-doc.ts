/** Prints the attacks of the tests as a page for readers: `npm run make:attacks-doc`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Attack, Family } from '../test/hostile/attack.ts';
import { DEFAULT_OUTPUT } from '../test/hostile/site.ts';
import { FAMILIES, FIGURES_FILE, type Figures } from '../test/hostile/table.ts';
import { wrapProse } from './wrap.ts';

const figures: Figures = JSON.parse(readFileSync(FIGURES_FILE, 'utf8'));

/** The attacks with a recorded figure; those that are new have none yet. */
function rowsOf({ attacks }: Family): string[] {
  return attacks.flatMap((attack) => {
    const figure = figures[attack.claim];
    return figure === undefined ? [] : [`| ${cellsOf(attack, figure).join(' | ')} |`];
  });
}

function cellsOf({ claim, tries, passes, unit, most }: Attack, figure: number): string[] {
  return [tries, passes, claim, `${shown(figure)} ${unit}`, shown(most)];
}

function shown(figure: number): string {
  return figure.toLocaleString('en', { maximumFractionDigits: 2 });
}

const HOW_TO_READ = [
  '**worst**: how far the attack came when the figures were last recorded; **at most** is what the test lets pass.',
  '**times what was held**: what the host billed over the money held when the request reached it. Estimates are at least 0.9 of what o200k_base counts, hence 1.12.',
  `**times what was charged and one step**: what the host billed over the charge. A step is what a hold grows by: the model's \`default_output\` for each choice, here ${DEFAULT_OUTPUT} tokens.`,
  '**times the balance, the spend limit, the budget, the token window**: what the host billed over that limit. Where a request may pass it by one step or by one request, that is in the figure at most.',
];

/** The page, as docs/ holds it. */
export function attacksDoc(): string {
  const tables = FAMILIES.map(
    (family) => `## ${family.title}

${family.about}

| the attacker … | to pass | what holds | worst | at most |
|---|---|---|---:|---:|
${rowsOf(family).join('\n')}
`,
  );
  const count = FAMILIES.reduce((sum, { attacks }) => sum + attacks.length, 0);
  return wrapProse(`<!-- Printed by npm run make:attacks-doc from test/hostile: change it there. -->

# The attacks, and how far each comes

What a sender, or a host, can try against the limits of a gateway: ${count} attacks, each in \`test/hostile/\`, against a real gateway and a host that bills truthfully by o200k_base. [security.md](security.md) says in short what holds, and what remains possible.

How to read the tables:

${HOW_TO_READ.map((note) => `- ${note}`).join('\n')}

${tables.join('\n')}`);
}

if (import.meta.main) writeFileSync(fileURLToPath(new URL('../docs/attacks.md', import.meta.url)), attacksDoc());
