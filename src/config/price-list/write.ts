/** Writes the price file with one line per model, and replaces the old file only when it is complete. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { UserError } from '../../core/errors.ts';
import { resolveLinks, sync } from '../../core/files.ts';
import { formatUsd } from '../../core/money.ts';
import { type PriceEntry, type PriceFile, parsePriceFile } from '../price-file.ts';

/** Readable by all users, as far as the umask permits: a service runs as its own user, and the file has no secrets. */
const MODE = 0o644;

const TITLE = `# Prices in USD per million tokens, written by \`inf-gw prices import\`, which replaces this file. A price in
# the config wins over one in here. Check them: what this file says is what requests are charged.
`;

/** JSON below comments, with one line per model. YAML reads it as well, and JSON is parsed in a tenth of the time. */
function priceFileText({ importedAt, source, providers }: PriceFile): string {
  const blocks = Object.entries(providers).map(([provider, models]) => {
    const lines = Object.entries(models).map(([name, entry]) => `    ${JSON.stringify(name)}: ${entryText(entry)}`);
    return `  ${JSON.stringify(provider)}: {\n${lines.join(',\n')}\n  }`;
  });
  const head = `"imported_at": ${JSON.stringify(importedAt)}, "source": ${JSON.stringify(source)}`;
  return `${TITLE}{ ${head}, "providers": {\n${blocks.join(',\n')}\n} }\n`;
}

/** Amounts are plain decimals. */
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

/** Writes a new file next to the old one and renames it, so that a failure leaves the old one intact. Throws a UserError. */
export function writePriceFile(path: string, file: PriceFile): void {
  const text = priceFileText(file);
  // An unreadable file would keep the gateway from starting.
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
