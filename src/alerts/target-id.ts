/** Identifies a target in the outbox: equal in all gateways with the same target, and free of secrets. */
import { createHash } from 'node:crypto';
import type { AlertTarget } from '../core/alert-targets.ts';

/** 64 bits: a collision between two targets is practically impossible. */
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
