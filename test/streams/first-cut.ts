/** The share of the output that the remaining money pays for which the first stream after a start receives before it is cut. */
import { setTimeout } from 'node:timers/promises';
import { countTokens, decode, encode } from 'gpt-tokenizer/encoding/o200k_base';
import { chunk } from '../support/answers.ts';
import { SERVE } from '../support/cli.ts';
import type { UpstreamCall } from '../support/fake-upstream.ts';
import { Place } from '../support/place.ts';
import type { Scope } from '../support/run-scope.ts';

/** The contract's figure. */
export const LEAST_SHARE = 0.97;

/** Running text, repeated as often as needed. Estimates of these languages are up to 1.4 times the count. */
const TEXTS = {
  English: 'The history of the town goes back to the twelfth century, when merchants settled at the ford. ',
  German: 'Die Geschichte der Stadt reicht bis in das zwölfte Jahrhundert zurück, als Kaufleute hier siedelten. ',
  Russian: 'История города восходит к двенадцатому веку, когда купцы основали поселение у брода через реку. ',
  Arabic: 'يعود تاريخ المدينة إلى القرن الثاني عشر عندما أسس التجار مستوطنة عند معبر النهر. ',
  Hindi: 'इस नगर का इतिहास बारहवीं शताब्दी से शुरू होता है जब व्यापारियों ने नदी के घाट पर बस्ती बसाई। ',
  Tamil: 'நகரத்தின் வரலாறு பன்னிரண்டாம் நூற்றாண்டில் வணிகர்கள் ஆற்றின் கரையில் குடியேறிய காலத்திலிருந்து தொடங்குகிறது. ',
} as const;
export const LANGUAGES = Object.keys(TEXTS) as readonly (keyof typeof TEXTS)[];

export interface FirstCut {
  readonly language: keyof typeof TEXTS;
  readonly tokensPerSecond: number;
  /** The tokens that the money pays for. */
  readonly paidTokens: number;
  readonly defaultOutput: number;
}

const NANOS_PER_TOKEN = 1_000;
const TOKENS_OF_EVENT = 2;

/** A gateway that has just been started has not loaded its tokenizer. */
export async function shareOfFirst(scope: Scope, cut: FirstCut): Promise<number> {
  const place = await Place.open(scope, {}, SERVE);
  const model = { input: 0, output: NANOS_PER_TOKEN / 1_000, default_output: cut.defaultOutput };
  await place.reload({ providers: { host: place.host({ models: { model } }) } });
  place.upstream.follow((call) => write(call, cut));
  const key = place.key({ spendLimitNanos: BigInt(cut.paidTokens * NANOS_PER_TOKEN) });
  const text = await (await place.chat(key, { stream: true })).text();
  await place.stop();
  return countTokens(contentOf(text)) / cut.paidTokens;
}

/**
 * Writes at its pace, even if the client does not read, until the connection is closed. After a stall of this process it does not
 * catch up: a burst would be another pace.
 */
async function write(call: UpstreamCall, { language, tokensPerSecond, paidTokens }: FirstCut): Promise<void> {
  // Twice as many tokens as the money pays for: a host that ran out of text would never be cut.
  const tokens = encode(TEXTS[language].repeat(Math.ceil(paidTokens / 4))).slice(0, 2 * paidTokens);
  const pauseMs = (1_000 * TOKENS_OF_EVENT) / tokensPerSecond;
  call.stream();
  let dueMs = performance.now();
  for (let at = 0; at < tokens.length && !call.isClosed; at += TOKENS_OF_EVENT) {
    call.send(chunk(decode(tokens.slice(at, at + TOKENS_OF_EVENT))));
    dueMs = Math.max(dueMs + pauseMs, performance.now());
    await setTimeout(Math.max(0, dueMs - performance.now()));
  }
  call.hangUp();
}

function contentOf(events: string): string {
  return [...events.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)]
    .map(([, content]) => JSON.parse(content as string))
    .join('');
}
