/** The attacks of attacks/forms.ts. */
import { FORMS } from './attacks/forms.ts';
import { testFamily } from './family-test.ts';

testFamily(FORMS);
