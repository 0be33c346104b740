/** What a dashboard showed of a real gateway, as a file: JSON, with amounts of money as `"123n"` and maps as lists. */
import { readFileSync } from 'node:fs';
import type { Snapshot } from '../src/control/protocol.ts';
import type { Stored } from '../src/tui/model.ts';

export interface Recording {
  readonly snapshot: Snapshot;
  readonly stored: Stored;
}

export const RECORDING = new URL('./recorded-dashboard.json', import.meta.url);

export function encoded({ snapshot, stored }: Recording): string {
  const plain = { snapshot, stored: { ...stored, modelUsage: [...stored.modelUsage] } };
  return `${JSON.stringify(plain, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))}\n`;
}

export function readRecording(): Recording {
  const { snapshot, stored } = JSON.parse(readFileSync(RECORDING, 'utf8'), (_, value) =>
    typeof value === 'string' && /^-?\d+n$/.test(value) ? BigInt(value.slice(0, -1)) : value,
  );
  return { snapshot, stored: { ...stored, modelUsage: new Map(stored.modelUsage) } };
}
