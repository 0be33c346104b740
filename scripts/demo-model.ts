/** The gateway of the README's picture: a real one, recorded. */
import { firstModel, type Model } from '../src/tui/model.ts';
import { update } from '../src/tui/update/update.ts';
import { readRecording } from './recording.ts';

const SIZE = { columns: 120, rows: 30 };

export function demoModel(): Model {
  const { snapshot, stored } = readRecording();
  return update(firstModel(stored, SIZE, snapshot.now_ms), { kind: 'snapshot', snapshot }).model;
}
