/**
 * How `serve` is started where every figure is checked: it waits for its counts, however busy the
 * machine is.
 */
import { fileURLToPath } from 'node:url';
import { CHANGEABLE_PROGRAM } from '../support/cli.ts';

const PRELOAD = fileURLToPath(new URL('./patient-preload.ts', import.meta.url));

export const PATIENT_SERVE = ['--import', PRELOAD, CHANGEABLE_PROGRAM, 'serve'];
