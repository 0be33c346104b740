/** The commands as a man page, which installing a checkout and packing write to man/inf-gw.1. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ArgumentNode,
  allNodes,
  type CommandNode,
  commandTree,
  HELP_OPTION,
  type OptionNode,
} from '../src/cli/command-tree.ts';
import { buildProgram } from '../src/cli/main.ts';
import { VERSION } from '../src/core/program.ts';
import { ROOT } from './bundling.ts';

/** Of a line of the source. */
const WIDTH = 78;

const DESCRIPTION = [
  'inf-gw sits between apps and the providers of language models. Each app has a key of its own; inf-gw enforces its rate limits, its monthly spend limit, its allowlist of models, and the credit of the account.',
  'A change that a command makes is in effect when it returns, whether or not a gateway is running. <key> is the name or the id of a key.',
];

/** What surrounds the program, as terms and what they mean. */
const SECTIONS: Readonly<Record<string, readonly (readonly [term: string, meaning: string])[]>> = {
  'EXIT STATUS': [
    ['0', 'It is done.'],
    ['1', 'It failed; stderr says what to do.'],
    ['2', 'The words are wrong.'],
  ],
  ENVIRONMENT: [
    ['INF_GW_CONFIG', 'The config file, unless --config names one.'],
    [
      'OPENAI_API_KEY, ANTHROPIC_API_KEY, and so on',
      `Whatever the config names as \${NAME}. A provider whose key is not set is left out.`,
    ],
    ['NO_COLOR', 'If set, nothing is coloured.'],
  ],
  FILES: [
    ['./config.yaml', 'The config, unless another one is named. Paths in it are relative to its folder.'],
    ['.env', 'Beside the config: lines of NAME=value, for variables that the environment does not have.'],
    ['inf-gw.db', 'Beside the config, unless its state: says otherwise: keys, limits, credit and usage.'],
  ],
};

export async function writeManPage(): Promise<void> {
  mkdirSync(join(ROOT, 'man'), { recursive: true });
  writeFileSync(join(ROOT, 'man/inf-gw.1'), await manPage());
}

/** The page in roff. */
export async function manPage(): Promise<string> {
  const program = commandTree(await buildProgram());
  const commands = allNodes(program).filter((node) => node.commands.length === 0);
  return [
    '.\\" Generated from the commands.',
    `.TH INF-GW 1 "" "inf-gw ${VERSION}" "User Commands"`,
    '.SH NAME',
    'inf-gw \\- a self-hosted gateway to language models',
    '.SH SYNOPSIS',
    '.B inf-gw',
    '.RI [ options ]',
    '.I command',
    '.RI [ arguments ]',
    '.SH DESCRIPTION',
    ...DESCRIPTION.flatMap((text, i) => [...(i === 0 ? [] : ['.PP']), prose(text)]),
    '.SH OPTIONS',
    'Every command takes these, except \\-\\-version.',
    ...[...program.options, HELP_OPTION].flatMap(optionItem),
    '.SH COMMANDS',
    ...commands.flatMap(commandSection),
    ...Object.entries(SECTIONS).flatMap(([title, items]) => [
      `.SH "${title}"`,
      ...items.flatMap(([term, meaning]) => item(bold(term), meaning)),
    ]),
    '.SH EXAMPLES',
    ...examples(program.more).slice(1),
    '',
  ].join('\n');
}

function commandSection(node: CommandNode): string[] {
  const words = [`inf-gw ${node.path}`, ...node.arguments.map(({ shown }) => shown)].join(' ');
  return [
    `.SS "${code(words)}"`,
    prose(sentence(node.description)),
    ...node.arguments.filter(({ description }) => description !== '').flatMap(argumentItem),
    ...node.options.flatMap(optionItem),
    ...examples(node.more),
  ];
}

function argumentItem({ shown, description }: ArgumentNode): string[] {
  return item(bold(shown), sentence(description));
}

function optionItem({ flags, description, value }: OptionNode): string[] {
  const choices = value?.kind === 'choice' && !flags.includes('|') ? ` One of: ${value.choices.join(', ')}.` : '';
  return item(bold(flags), sentence(description) + choices);
}

function item(term: string, meaning: string): string[] {
  return ['.TP', term, prose(meaning)];
}

/** The text below the lists of a help: paragraphs, then examples, which stand as they are. */
function examples(more: string): string[] {
  const [paragraphs = '', lines = ''] = more.split(/^Examples?:\n/m);
  const text = paragraphs.trim() === '' ? [] : paragraphs.trim().split('\n\n');
  return [
    ...text.flatMap((paragraph) => ['.PP', prose(paragraph.replaceAll('\n', ' '))]),
    ...(lines === '' ? [] : ['.PP', '.EX', ...lines.trimEnd().split('\n').map(code), '.EE']),
  ];
}

/** The help's descriptions begin in lower case and have no stop at their end. */
function sentence(text: string): string {
  return text === '' ? '' : `${text[0]?.toUpperCase()}${text.slice(1)}.`;
}

function bold(text: string): string {
  return `\\fB${code(text)}\\fR`;
}

/** A line that is read as it stands, with the hyphens and quotes that a shell takes. */
function code(line: string): string {
  const names: Readonly<Record<string, string>> = { '-': '\\-', "'": '\\(aq', '`': '\\(ga', '"': '\\(dq' };
  return noRequest(ascii(line).replace(/[-'`"]/g, (character) => names[character] ?? character));
}

/** Text to be filled, in which options keep their hyphens. */
function prose(text: string): string {
  const escaped = ascii(text).replace(/(?<!\S)--?(?=\w)/g, (dashes) => dashes.replaceAll('-', '\\-'));
  const lines = [''];
  for (const word of escaped.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + 1 + word.length > WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.map(noRequest).join('\n');
}

/** Every system's man reads ASCII, and escapes for the rest. */
function ascii(text: string): string {
  const escaped = (character: string) =>
    `\\[u${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`;
  return text.replaceAll('\\', '\\e').replace(/[^\t\n -~]/gu, escaped);
}

/** A line that begins with one of these would be a request. */
function noRequest(line: string): string {
  return /^[.']/.test(line) ? `\\&${line}` : line;
}
