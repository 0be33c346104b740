/** Attacks by images and audio in the dialects of text. */
import { testAttacks, testRefused } from './units/attack.ts';
import { MODALITY_ATTACKS, REFUSED_MODALITIES } from './units/modalities.ts';

testAttacks(MODALITY_ATTACKS);
testRefused(REFUSED_MODALITIES);
