/**
 * Prints the results of commands: aligned tables for people, one JSON document for programs. Names, notes and messages of
 * providers are cleaned here, so that they cannot forge output.
 */
import { styleText } from 'node:util';
import { redactKeys } from '../core/api-key.ts';
import type { Nanos } from '../core/money.ts';
import type { Tone } from '../operator/health.ts';
import {
  amount,
  type Field,
  fieldLines,
  type Look,
  noteLines,
  type Style,
  type Table,
  tableLines,
} from '../operator/table.ts';
import { clean, rewrapped, toAscii, wrap, wrapWhole } from '../operator/text.ts';

/** Whether standard output is a terminal. */
export function isTerminal(): boolean {
  return process.stdout.isTTY === true;
}

/** The width of a terminal that does not report its size, such as a serial line. */
const USUAL_COLUMNS = 80;

function columnsOf({ columns }: NodeJS.WriteStream): number {
  return columns > 0 ? columns : USUAL_COLUMNS;
}

/** The look of standard output, with the present width of the terminal. */
export function look(): Look {
  return { room: isTerminal() ? columnsOf(process.stdout) : undefined, paint };
}

const COLOURS: Readonly<Record<Style, Parameters<typeof styleText>[0]>> = {
  bold: 'bold',
  dim: 'dim',
  good: 'green',
  warn: 'yellow',
  bad: 'red',
};

/** Colours follow NO_COLOR, FORCE_COLOR and TERM. */
function paint(text: string, style: Style): string {
  return styleText(COLOURS[style], text, { stream: process.stdout });
}

/** Whether the locale is UTF-8. */
function isUtf8({ LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): boolean {
  return /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || '');
}

/** An amount: short on a terminal, exact elsewhere. */
export function money(nanos: Nanos): string {
  return amount(nanos, look());
}

/**
 * Prints a notice or an error on stderr, wrapped to the terminal, so that it does not end up in a pipe. Whole keys in it are
 * masked.
 */
export function notice(line: string): void {
  const { stderr } = process;
  const text = clean(redactKeys(line));
  stderr.write(`${(stderr.isTTY ? wrapWhole(text, columnsOf(stderr)) : [text]).join('\n')}\n`);
}

/** The look of stderr. */
export function remarkLook(): Look {
  const { stderr } = process;
  const paint: Look['paint'] = (text, style) => styleText(COLOURS[style], text, { stream: stderr });
  return { room: stderr.isTTY ? columnsOf(stderr) : undefined, paint };
}

/** Prints cleaned and styled lines on stderr. */
export function remarkLines(lines: readonly string[]): void {
  const isAscii = process.stderr.isTTY && !isUtf8(process.env);
  process.stderr.write(`${(isAscii ? lines.map(toAscii) : lines).join('\n')}\n`);
}

/** Characters that JSON permits unescaped but that could control a terminal. The document's own line breaks are excepted. */
const UNSAFE_IN_JSON = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Prints one JSON document. Its values are exact; unprintable characters are escaped. */
export function printJson(value: unknown): void {
  process.stdout.write(jsonText(value, 2));
}

/** A JSON document on one line, for a stream of documents. */
export function jsonLine(value: unknown): string {
  return jsonText(value, 0);
}

function jsonText(value: unknown, indent: number): string {
  return `${JSON.stringify(value, null, indent).replace(UNSAFE_IN_JSON, escaped)}\n`;
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/** Prints CSV: exact in a file or a pipe, cleaned on a terminal. */
export function printCsv(csv: string): void {
  process.stdout.write(isTerminal() ? csv.split('\n').map(clean).join('\n') : csv);
}

export function printLine(line = '', style?: Style): void {
  printLines([styled(clean(line), style)]);
}

/** Prints a line with a coloured word in front. Further lines are indented. */
export function printMarked(mark: string, tone: Tone, text: string): void {
  const [first = '', ...rest] = brokenText(text, mark.length);
  printLines([paint(mark, tone) + first, ...rest.map((line) => ' '.repeat(mark.length) + line)]);
}

/** Prints a text, wrapped to the terminal. */
export function printText(text: string, { indent = 0, style }: { indent?: number; style?: Style } = {}): void {
  printLines(brokenText(text, indent).map((line) => ' '.repeat(indent) + styled(line, style)));
}

function brokenText(text: string, indent: number): readonly string[] {
  const { room } = look();
  return room === undefined ? [clean(text)] : wrap(clean(text), Math.max(1, room - indent));
}

/** Prints a help, wrapped if the terminal is narrow. */
export function printHelp(text: string): void {
  const { room } = look();
  process.stdout.write(room === undefined ? text : rewrapped(text, room));
}

/** Prints a note, wrapped to the terminal. */
export function printNote(text: string): void {
  printLines(noteLines(text, look()));
}

/** Prints a table, fitted to a terminal, or with every column elsewhere. */
export function printTable(table: Table): void {
  printLines(tableLines(table, look()));
}

export function printFields(fields: readonly Field[]): void {
  printLines(fieldLines(fields, look()));
}

export function printLines(lines: readonly string[]): void {
  if (lines.length > 0) process.stdout.write(`${readable(lines).join('\n')}\n`);
}

/** Lines in the character set of this terminal. */
export function readable(lines: readonly string[]): readonly string[] {
  return isTerminal() && !isUtf8(process.env) ? lines.map(toAscii) : lines;
}

function styled(text: string, style?: Style): string {
  return style === undefined ? text : paint(text, style);
}
