/** Thread that looks up and stores cached answers, so that no request waits for the disk. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { AnswerPlace, CachedAnswer, CacheTerms, Saving } from '../core/cached-answers.ts';
import { Port } from '../core/port.ts';
import { AnswerFile } from '../state/sqlite/answer-file.ts';

export interface CacheCalls {
  find(place: AnswerPlace, ttlMs: number): Promise<CachedAnswer | undefined>;
  add(place: AnswerPlace, answer: CachedAnswer, terms: CacheTerms): Promise<void>;
  countSaving(saving: Saving): Promise<void>;
}

const port = new Port<CacheCalls, object>(parentPort as MessagePort, 'the main thread');

/** Undefined until it could be opened. */
let file: AnswerFile | undefined;

function withFile<Result>(work: (file: AnswerFile) => Result): Result {
  file ??= AnswerFile.open(workerData as string);
  try {
    return work(file);
  } catch (error) {
    if (file.discardIfDamaged(error)) file = undefined;
    throw error;
  }
}

port.serve({
  find: async (place, ttlMs) => withFile((answers) => answers.find(place, ttlMs, Date.now())),
  add: async (place, answer, terms) => withFile((answers) => answers.add(place, answer, terms)),
  countSaving: async (saving) => withFile((answers) => answers.countSaving(saving)),
});
