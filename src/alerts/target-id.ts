/** What a target is called in the outbox: the same in every gateway that has it, and without its secret. */
import { createHash } from 'node:crypto';
import type { AlertTarget } from '../core/alert-targets.ts';

/** Enough that two targets never share one. */
const HASH_CHARACTERS = 16;

export function targetId(target: AlertTarget): string {
  switch (target.kind) {
    case 'webhook':
      return `webhook:${hashed([target.url, target.format])}`;
    case 'command':
      return `command:${hashed(target.words)}`;
  }
}

function hashed(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, HASH_CHARACTERS);
}
