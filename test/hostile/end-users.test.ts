/** The attacks of attacks/end-users.ts. */
import { END_USERS } from './attacks/end-users.ts';
import { testFamily } from './family-test.ts';

testFamily(END_USERS);
