/** Writes the price file: one line for each model, and in the place of the old file only once it is whole. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { UserError } from '../../core/errors.ts';
import { resolveLinks, sync } from '../../core/files.ts';
import { formatUsd } from '../../core/money.ts';
import { type PriceEntry, type PriceFile, parsePriceFile } from '../price-file.ts';

/** Readable by all, as far as the umask allows: a service has a user of its own, and there is no secret in it. */
const MODE = 0o644;

const TITLE = `# Prices in USD per million tokens, written by \`inf-gw prices import\`, which replaces this file. A price in
# the config wins over one in here. Check them: what this file says is what requests are charged.
`;

/** JSON below comments, which YAML reads as well: it takes a tenth of the time to read. One line for each model. */
function priceFileText({ importedAt, source, providers }: PriceFile): string {
  const blocks = Object.entries(providers).map(([provider, models]) => {
    const lines = Object.entries(models).map(([name, entry]) => `    ${JSON.stringify(name)}: ${entryText(entry)}`);
    return `  ${JSON.stringify(provider)}: {\n${lines.join(',\n')}\n  }`;
  });
  const head = `"imported_at": ${JSON.stringify(importedAt)}, "source": ${JSON.stringify(source)}`;
  return `${TITLE}{ ${head}, "providers": {\n${blocks.join(',\n')}\n} }\n`;
}

/** Amounts are written as plain decimals. */
function entryText(entry: PriceEntry): string {
  return flowMap(entry as unknown as Readonly<Record<string, unknown>>) ?? '{}';
}

/** Undefined for an empty map. */
function flowMap(fields: Readonly<Record<string, unknown>>): string | undefined {
  const members = Object.entries(fields).flatMap(([name, value]) => {
    const text = valueText(value);
    return text === undefined ? [] : [`${JSON.stringify(name)}: ${text}`];
  });
  return members.length === 0 ? undefined : `{ ${members.join(', ')} }`;
}

function valueText(value: unknown): string | undefined {
  if (typeof value === 'bigint') return formatUsd(value).replace(/\.?0+$/, '');
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return value.length === 0 ? undefined : `[${value.map(valueText).join(', ')}]`;
  return typeof value === 'object' && value !== null ? flowMap(value as Record<string, unknown>) : undefined;
}

/** Writes beside the file and renames: whatever fails, the old one stays as it was. Throws a UserError. */
export function writePriceFile(path: string, file: PriceFile): void {
  const text = priceFileText(file);
  // What cannot be read again would keep the gateway from starting.
  parsePriceFile(text, path);
  const target = resolveLinks(path);
  const draft = `${target}.new-${process.pid}`;
  try {
    writeSynced(draft, text);
    renameSync(draft, target);
    sync(dirname(target));
  } catch (error) {
    rmSync(draft, { force: true });
    const { code = String(error) } = error as NodeJS.ErrnoException;
    throw new UserError(`cannot write the price file ${path} (${code}); it is as it was`);
  }
}

function writeSynced(path: string, text: string): void {
  const file = openSync(path, 'wx', MODE);
  try {
    for (let bytes = Buffer.from(text); bytes.length > 0; ) bytes = bytes.subarray(writeSync(file, bytes));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
