/** Prints the attacks of the tests as a page for readers: `npm run make:security-doc`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Attack, Family } from '../test/hostile/attack.ts';
import { COUNT_ERROR, DEFAULT_OUTPUT } from '../test/hostile/site.ts';
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

/** Every way in, who may pass, and how that is kept. */
const DOORS: readonly (readonly [door: string, who: string, how: string])[] = [
  [
    '`listen`',
    'whoever reaches it, with a key; by default this machine alone',
    'without a valid key nothing but health checks and errors. Heads of 16 KB, 16 unanswered requests a connection, bodies by their keys, connections by the source, silent ones go first; with `tls` nobody on the way reads along',
  ],
  [
    '`health`, `metrics`',
    'whoever reaches them; off by default',
    'no keys and no prompts there; 32 connections, of which the silent go first; metrics answer to names that they have',
  ],
  [
    'the control socket',
    'the user of the gateway, and root',
    'mode 600 in a folder of mode 700 whose owner is checked; commands read bounded answers within bounded time',
  ],
  [
    'the folder of the state',
    'the user of the gateway',
    'files of mode 600, opened without links; root’s commands work there as that user; a lock keeps a second gateway out',
  ],
  [
    'signals',
    'the user of the gateway, and root',
    'SIGTERM and SIGINT stop, SIGHUP reloads; SIGUSR1 does nothing, so that nobody opens Node’s debugger',
  ],
  [
    'the environment',
    'whoever starts the gateway',
    'keys of providers; debuggers of NODE_OPTIONS are closed, NODE_TLS_REJECT_UNAUTHORIZED is ignored, proxies are not used',
  ],
  [
    'commands of `run`',
    'whoever runs them',
    'a key of their own that is bounded and ends with them; no variable that holds a provider’s key',
  ],
  [
    'PostgreSQL',
    'the role of the gateway',
    'functions that check what they are told; TLS that is checked, or SCRAM; `state grant` gives no more than that',
  ],
  [
    'providers',
    'nobody: the gateway calls',
    'certificates are always checked, redirects not followed; answers are bounded, and searched for keys',
  ],
  ['alerts', 'nobody: the gateway calls', 'signed; redirects are not followed'],
  ['the log', 'whoever reads it', 'no prompt, no answer, no key; lines of an outage are bounded'],
];

const MACHINE: readonly string[] = [
  '**Links in the folder of the state.** The user of the service owns that folder, and root’s commands work in it. By links there, `restore` gave that user a file of root’s, and `keys create` and `serve` made files wherever a link led. Now root works there as that user, for good, or is refused with the line to type; nothing beside the state is opened or changed by a link, whoever runs the command. [How](operations.md#systemd).',
  '**Files deleted under a running gateway.** Without `-shm`, `keys disable` succeeded, the key went on, and the end of the gateway removed what the command had written; without `-lock`, a second gateway admitted a limit of 20 once more. Now the gateway admits nothing more and says what to do, and commands refuse to work beside it.',
  '**No descriptors left.** With a limit of 400 files, 340 idle connections left too few for the providers: requests that had been admitted got 502, and circuits of healthy providers opened for it. Now connections leave room for those to the providers (72 with that limit, and the log says so), and what the gateway itself has run out of is held against no provider.',
  'Connections that send nothing, as many as there may be, each opened anew once it is closed: requests with a key and health checks were reset but for 0.05%; all of them are served now, since such connections make room for others.',
  '**Many requests in one write.** Node parses all that one read holds, 1,820 requests in 64 KB. On a busy machine 100 such writes without a key delayed everybody by 50 s and cost 10 s of CPU, and 400 ended a process that might have a heap of 256 MB. Now one request of a connection is parsed at a time, and of more than 16 that wait the connection is closed: 100 delay others by 0.6 s there, 400 by 2.3 s and with 1.2 s of CPU.',
  'Web pages that give their own name the address 127.0.0.1: they read the metrics, and get 403 now.',
];

const REMAINS = [
  '**What a host writes ahead.** A stream is cut when its hold is used up. What has arrived by then is charged, and can pass a limit: a model that writes slower than a decision takes is one event ahead, a host that sends a prepared text at once by all of it. What is still on the way then is billed by the host and charged to nobody. [Figures](accounting.md#streams-that-outgrow-their-hold).',
  '**The host’s own tokenizer.** The gateway estimates and counts with o200k_base. A host with another tokenizer bills more or fewer tokens for the same text. What it reports is charged as reported, so a difference matters only to estimates before the answer and to requests without a report: leave room for it in the balance.',
  '**Hidden reasoning of a stream that is stopped.** Some hosts bill reasoning that they never send, and name it only in the report at the end. When a client leaves such a stream, its reasoning is charged by its time, at the fastest pace that the model has shown: most often too much, and too little for a model that is faster than ever before. With `on_disconnect: drain` the stream is read to its report, and charged exactly.',
  '**Hidden reasoning before the first word.** For the same reason a hold cannot grow with reasoning that nobody sees. A declared maximum covers it; `cap_output: true` declares one wherever the client does not.',
  '**JSON requests without a maximum.** A JSON answer comes in one piece, so it cannot be cut. Where neither the client nor `cap_output` sets a maximum that the host reads, it may pass a limit by what the model writes.',
  '**A host that ignores a maximum.** A hold covers what the request declares. A host that writes more is cut off in a stream, and bills what it likes in JSON.',
  '**A dishonest host.** What a host reports is charged. A report that is too high empties the balance, and one that is too low leaves the operator to pay; the gateway rejects only figures that cannot be right. Compare the invoice with `inf-gw usage --by model`.',
  '**A gateway with a role of its own in PostgreSQL.** Its functions check what they are told ([scale-out.md](scale-out.md#with-fewer-rights)), but what a request costs only the gateway knows. Whoever has its password can charge too little or too much, and pose as another gateway; keys, credit and the journal of the past are out of reach.',
  '**What a host keeps to itself.** Prices with conditions that the config does not know (a batch, a region, a fine-tuned model) are charged at the configured price.',
];

/** The page, as docs/ holds it. */
export function securityDoc(): string {
  const tables = FAMILIES.map(
    (family) => `## ${family.title}

${family.about}

| the attacker … | to pass | what holds | worst | at most |
|---|---|---|---:|---:|
${rowsOf(family).join('\n')}
`,
  );
  const count = FAMILIES.reduce((sum, { attacks }) => sum + attacks.length, 0);
  return wrapProse(`<!-- Printed by npm run make:security-doc from test/hostile: change it there. -->

# What attackers try

A key is in the hands of whoever sends with it. This page lists what a sender, or a host, can try against the limits of a gateway, and how far each attack comes: ${count} attacks, each in \`test/hostile/\`, against a real gateway and a host that bills truthfully by o200k_base. \`npm run test:hostile\` runs them, and then composes 20,000 attacks out of the same tricks: fields, spellings, repeats, encodings, maxima, choices, races, and leaving at every point. \`npm run test:hostile-dialects\` does so in all dialects, with files, references, tools of the host and prices of their own. Of each it is checked that the host billed no more than ${COUNT_ERROR} times the charge and one step, and that balance, spend limit, token window, allowlist and slots held.

In the last long run in all dialects (seed 7431: 20,000 attacks, 55,989 requests, of which 21,113 reached the host) none passed. Of what each may have, the worst came to 1.000 of the charge, 0.901 of the hold, 0.900 of a spend limit, 0.873 of a token window, 0.857 of the balance and all of its slots; the host billed 2,137 USD, and 13,754 were charged, most of that for requests that nobody reported.

How to read the tables:

${HOW_TO_READ.map((note) => `- ${note}`).join('\n')}

${tables.join('\n')}
## Doors

| the door | who may pass | what keeps it |
|---|---|---|
${DOORS.map((row) => `| ${row.join(' | ')} |`).join('\n')}

## The machine around it

What other users of the machine can try, and what happens when it runs short. These attacks are in \`test/hardening/\` and \`test/disks/\`, and each succeeded once.

${MACHINE.map((note) => `- ${note}`).join('\n')}

## What remains possible

The gateway sees what passes through it, and nothing else. So some things it cannot prevent:

${REMAINS.map((note) => `- ${note}`).join('\n')}
`);
}

if (import.meta.main) writeFileSync(fileURLToPath(new URL('../docs/security.md', import.meta.url)), securityDoc());
