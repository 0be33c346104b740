/** Attacks with files of few bytes of which a host makes many tokens. */
import { FILE_PLACES, PDF_PLACES, PICTURE_PLACES, SOUND_PLACES } from '../../hostile-dialects/places/packed.ts';
import type { Place } from '../../hostile-dialects/places/texts.ts';
import type { ModelName } from '../../hostile-dialects/pricing.ts';
import { type Direction, shown, TRANSLATED } from '../../hostile-dialects/requests.ts';
import type { Attack, Family } from '../attack.ts';
import { billedOverBalance, billedOverHeld, billedOverTokenLimit, OVER_HELD, overLimit } from '../measures.ts';
import { NANOS_PER_USD } from '../truthful-site.ts';
import { bounded, CHAT, DIRECTIONS, RACING, racing } from './dialect-requests.ts';

const BALANCE_NANOS = NANOS_PER_USD;
const WINDOW = 20_000;

function held(direction: Direction, [file, fields]: Place, model: ModelName, where = ''): Attack {
  const what = `${file}, in ${shown(direction)}${where}`;
  return {
    claim: `${what}, is held for in full`,
    passes: 'balance',
    tries: what,
    ...OVER_HELD,
    run: async (workshop) => billedOverHeld(await workshop.dialects(), bounded(direction, 1, fields, model)),
  };
}

/** The one of most tiles, and the one of most pixels. */
const widePicture = ({ client }: Direction) => PICTURE_PLACES[client].at(-2) as Place;
const vastPicture = ({ client }: Direction) => PICTURE_PLACES[client].at(-1) as Place;

const pdfs = [
  ...[...DIRECTIONS, ...TRANSLATED].map((direction) => held(direction, PDF_PLACES[direction.client], 'cheap')),
  held(CHAT, PDF_PLACES.chat, 'windowless', ', where the config does not say what fits in'),
];
const files = DIRECTIONS.flatMap((direction) =>
  FILE_PLACES[direction.client].map((place) => held(direction, place, 'cheap')),
);

const TILES = ', at a host that sees tiles';
const pictures = [
  ...PICTURE_PLACES.chat.map((place) => held(CHAT, place, 'tiles', TILES)),
  ...PICTURE_PLACES.chat.map((place) => held(CHAT, place, 'patches', ', at a host that sees patches')),
  ...DIRECTIONS.map((direction) =>
    held(direction, widePicture(direction), 'unsaid', `${TILES}, of which the config says nothing`),
  ),
  ...DIRECTIONS.map((direction) =>
    held(direction, vastPicture(direction), 'boundless', ', at a host that sees patches without an end'),
  ),
];

const [firstSound] = SOUND_PLACES as readonly [Place];
const sounds = [
  held(CHAT, firstSound, 'speaking', ', at 10 tokens a second'),
  ...SOUND_PLACES.map((place) => held(CHAT, place, 'attentive', ', at 32 tokens a second')),
];

const races = DIRECTIONS.flatMap((direction) => {
  const [what, fields] = PDF_PLACES[direction.client];
  const request = bounded(direction, 1, fields);
  const tries = `${RACING} racing requests with ${what}, in ${direction.client}`;
  return [
    {
      claim: `racing PDFs in ${direction.client} do not pass a balance for less than one`,
      tries: `${tries}, with a balance of 1 USD`,
      ...overLimit('balance', BALANCE_NANOS),
      run: async (workshop) =>
        billedOverBalance(await workshop.dialects(), BALANCE_NANOS, racing(request, workshop.isLong)),
    },
    {
      claim: `racing PDFs in ${direction.client} do not pass a token limit for less than one`,
      tries: `${tries}, with a token limit of ${WINDOW.toLocaleString('en')}`,
      ...overLimit('token window', WINDOW),
      run: async (workshop) =>
        billedOverTokenLimit(await workshop.dialects(), WINDOW, racing(request, workshop.isLong)),
    },
  ] satisfies Attack[];
});

export const PACKED: Family = {
  title: 'Input that is packed small',
  about:
    'Some files have few bytes, and a host makes many tokens of them. It bills a PDF by its pages, sound by its length, a picture by its pixels, and an archive by the text in it.',
  attacks: [...pdfs, ...files, ...pictures, ...sounds, ...races],
};
