/** Attacks by sound whose length its file misstates, and by speech that is one pause. */
import { testAttacks } from './units/attack.ts';
import { SOUND_ATTACKS } from './units/sounds.ts';

testAttacks(SOUND_ATTACKS);
